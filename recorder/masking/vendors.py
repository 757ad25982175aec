"""The definite rules of keys with a vendor's prefix: public formats that nothing else looks like.

Sources: the documents of the vendors and the rules of public scanners. A key whose length may change has a
lower limit only. Rules of which one key may match two are in order of preference.
"""

from __future__ import annotations

from recorder.masking.rule import Rule

_W = "[A-Za-z0-9]"
_U = "[A-Za-z0-9_-]"
_HEX = "[0-9a-f]"


def _key(name: str, title: str, anchors: str, pattern: str, *, group: int = 0, prefilter: str = "") -> Rule:
    return Rule(name, "definite", title, tuple(anchors.split()), pattern, group, prefilter)


# A key, a name and a value as in source text, JSON, YAML or an environment file: name = "value".
ASSIGNED = r"""[\\"'`]{0,8}\s{0,8}(?::=|=>|[:=])\s{0,8}[\\"'`]{0,8}"""

CLOUD: tuple[Rule, ...] = (
    _key("aws-access-key-id", "AWS access key ID", "AKIA ASIA ABIA ACCA",
         r"\b((?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16})\b", group=1,
         prefilter="(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{4}"),
    _key("aws-secret-access-key", "AWS secret access key",
         "secret_access_key SecretAccessKey secretAccessKey",
         rf"(?i:secret_?access_?key){ASSIGNED}([A-Za-z0-9/+]{{40}}=*)", group=1,
         prefilter="(?i:secret_?access_?key)"),
    _key("aws-session-token", "AWS session token", "session_token SessionToken sessionToken",
         rf"(?i:session_?token){ASSIGNED}([A-Za-z0-9/+]{{100,}}=*)", group=1,
         prefilter="(?i:session_?token)"),
    _key("aws-bedrock-api-key", "Amazon Bedrock API key", "ABSK", r"\bABSK[A-Za-z0-9+/]{100,}=*"),
    _key("azure-storage-key", "Azure storage account key", "AccountKey=",
         r"AccountKey=([A-Za-z0-9+/]{40,}={0,2})", group=1),
    _key("azure-shared-access-key", "Azure Service Bus or Event Hubs key", "SharedAccessKey=",
         r"SharedAccessKey=([A-Za-z0-9+/]{40,}={0,2})", group=1),
    _key("azure-sas-signature", "Signature of an Azure shared access URL", "sig=",
         r"\bsig=([A-Za-z0-9%+/]{40,}={0,2})", group=1, prefilter="sig=[A-Za-z0-9%+/]{20}"),
    _key("azure-client-secret", "Azure client secret", "Q~", rf"\b{_W}{{3}}[0-9]Q~[A-Za-z0-9_~.-]{{31,34}}"),
    _key("azure-openai-key", "Azure AI services key", "JQQJ99", rf"{_W}{{40,60}}JQQJ99{_W}{{20,40}}"),
    _key("google-api-key", "Google API key", "AIza", rf"AIza{_U}{{35}}"),
    _key("google-oauth-secret", "Google OAuth client secret", "GOCSPX-", rf"GOCSPX-{_U}{{20,}}"),
    _key("google-oauth-token", "Google OAuth access token", "ya29.", rf"\bya29\.{_U}{{20,}}"),
    _key("google-refresh-token", "Google OAuth refresh token", "1//0", rf"\b1//0{_U}{{30,}}"),
    _key("alibaba-access-key-id", "Alibaba Cloud access key ID", "LTAI",
         rf"\b(LTAI{_W}{{12,20}})\b", group=1),
    _key("tencent-secret-id", "Tencent Cloud secret ID", "AKID", rf"\b(AKID{_W}{{32}})\b", group=1),
    _key("digitalocean-token", "DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", rf"do[opr]_v1_{_HEX}{{64}}"),
    _key("cloudflare-origin-ca-key", "Cloudflare origin CA key", "v1.0-",
         rf"\bv1\.0-{_HEX}{{24}}-{_HEX}{{100,}}"),
    _key("heroku-api-key", "Heroku API key", "HRKU-", rf"HRKU-{_U}{{36,}}"),
    _key("fly-token", "Fly.io token", "fo1_ fm1a_ fm1r_ fm2_",
         r"\b(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{40,}",
         prefilter="(?:fo1|fm1[ar]|fm2)_[A-Za-z0-9+/=_-]{20}"),
    _key("netlify-token", "Netlify token", "nfp_", rf"\bnfp_{_W}{{36,}}"),
    _key("supabase-token", "Supabase token or secret key", "sbp_ sb_secret_",
         rf"\bsbp_{_HEX}{{40,}}|\bsb_secret_{_U}{{20,}}"),
    _key("planetscale-token", "PlanetScale token", "pscale_tkn_ pscale_oauth_ pscale_pw_",
         r"pscale_(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{32,}"),
    _key("databricks-token", "Databricks token", "dapi", rf"\bdapi{_HEX}{{32}}(?:-[0-9])?",
         prefilter=f"dapi{_HEX}{{8}}"),
    _key("hashicorp-vault-token", "HashiCorp Vault token", "hvs. hvb. hvr.", rf"\bhv[sbr]\.{_U}{{24,}}"),
    _key("terraform-cloud-token", "HCP Terraform token", ".atlasv1.",
         rf"{_W}{{14}}\.atlasv1\.[A-Za-z0-9_=-]{{60,}}"),
    _key("pulumi-token", "Pulumi token", "pul-", rf"\bpul-{_HEX}{{40}}", prefilter=f"pul-{_HEX}{{8}}"),
    _key("doppler-token", "Doppler token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.",
         rf"\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{_W}{{40,}}"),
    _key("tailscale-key", "Tailscale key", "tskey-", r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{20,}"),
)  # fmt: skip

MODELS: tuple[Rule, ...] = (
    _key("anthropic-api-key", "Anthropic key", "sk-ant-", rf"sk-ant-{_U}{{20,}}"),
    _key("openrouter-api-key", "OpenRouter key", "sk-or-", rf"sk-or-(?:v1-)?{_W}{{32,}}"),
    _key("langfuse-secret-key", "Langfuse secret key", "sk-lf-", r"sk-lf-[0-9a-f-]{32,}"),
    _key("openai-api-key", "OpenAI key", "sk-proj- sk-svcacct- sk-admin- sk-None- T3BlbkFJ",
         rf"sk-(?:proj|svcacct|admin|None)-{_U}{{20,}}|\bsk-{_W}{{20,}}T3BlbkFJ{_W}{{20,}}"),
    _key("sk-api-key", "Key that begins with sk-, as those of OpenAI until 2024 and of DeepSeek", "sk-",
         rf"\bsk-{_W}{{32,}}", prefilter=f"sk-{_W}{{32}}"),
    _key("groq-api-key", "Groq key", "gsk_", rf"\bgsk_{_W}{{40,}}"),
    _key("xai-api-key", "xAI key", "xai-", rf"\bxai-{_W}{{60,}}", prefilter=f"xai-{_W}{{20}}"),
    _key("perplexity-api-key", "Perplexity key", "pplx-", rf"\bpplx-{_W}{{40,}}"),
    _key("nvidia-api-key", "NVIDIA key", "nvapi-", rf"nvapi-{_U}{{60,}}"),
    _key("replicate-token", "Replicate token", "r8_", rf"\br8_{_W}{{37,}}", prefilter=f"r8_{_W}{{20}}"),
    _key("huggingface-token", "Hugging Face token", "hf_ api_org_",
         rf"\bhf_{_W}{{30,}}|\bapi_org_{_W}{{30,}}", prefilter=f"(?:hf|api_org)_{_W}{{30}}"),
    _key("langsmith-key", "LangSmith key", "lsv2_pt_ lsv2_sk_", rf"lsv2_(?:pt|sk)_{_HEX}{{32}}_{_HEX}{{10}}"),
    _key("tavily-api-key", "Tavily key", "tvly-", r"\btvly-[A-Za-z0-9-]{20,}"),
    _key("loopscope-token", "Loopscope access token", "lsk_", rf"\blsk_{_W}{{8,32}}_{_HEX}{{32,}}",
         prefilter=f"lsk_{_W}{{8}}"),
)  # fmt: skip

DEVELOPMENT: tuple[Rule, ...] = (
    _key("github-token", "GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", rf"gh[pousr]_{_W}{{36,255}}",
         prefilter=f"gh[pousr]_{_W}{{36}}"),
    _key("github-fine-grained-token", "GitHub fine-grained token", "github_pat_",
         r"github_pat_[A-Za-z0-9_]{36,255}"),
    _key("gitlab-token", "GitLab token",
         "glpat- gldt- glrt- glrtr- glptt- glft- glimt- glagent- glsoat- glcbt- gloas- glffct- glwt-",
         r"\bgl(?:pat|dt|rtr?|ptt|ft|imt|agent|soat|cbt|oas|ffct|wt)-[A-Za-z0-9_=.-]{20,}"),
    _key("bitbucket-token", "Bitbucket app password", "ATBB", rf"\bATBB{_W}{{24,}}"),
    _key("atlassian-token", "Atlassian API token", "ATATT3 ATCTT3", r"\bAT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    _key("npm-token", "npm token", "npm_", rf"\bnpm_{_W}{{36,}}", prefilter=f"npm_{_W}{{36}}"),
    _key("pypi-token", "PyPI token", "pypi-AgE", rf"pypi-AgE{_U}{{40,}}"),
    _key("rubygems-key", "RubyGems key", "rubygems_", rf"rubygems_{_HEX}{{48}}"),
    _key("crates-token", "Cargo registry token", "cio", rf"\bcio{_W}{{32}}\b", prefilter=f"cio{_W}{{32}}"),
    _key("docker-token", "Docker Hub token", "dckr_pat_ dckr_oat_", rf"dckr_[po]at_{_U}{{20,}}"),
    _key("postman-key", "Postman key", "PMAK-", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}"),
    _key("sonarqube-token", "SonarQube token", "sqp_ squ_ sqa_", rf"\bsq[pua]_{_HEX}{{40}}"),
    _key("sentry-token", "Sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _key("grafana-token", "Grafana token", "glc_ glsa_",
         rf"\bglc_[A-Za-z0-9+/]{{32,}}=*|\bglsa_{_W}{{32}}_{_HEX}{{8}}"),
    _key("new-relic-key", "New Relic key", "NRAK- NRII- NRJS-", rf"\bNR(?:AK|II|JS)-{_U}{{19,}}"),
    _key("posthog-key", "PostHog personal key", "phx_", rf"\bphx_{_W}{{40,}}"),
    _key("onepassword-token", "1Password service account token", "ops_eyJ",
         r"\bops_eyJ[A-Za-z0-9+/=_-]{100,}"),
    _key("figma-token", "Figma token", "figd_", rf"\bfigd_{_U}{{30,}}"),
    _key("linear-key", "Linear key", "lin_api_ lin_oauth_", rf"\blin_(?:api|oauth)_{_W}{{32,}}"),
    _key("notion-token", "Notion token", "ntn_ secret_", rf"\bntn_{_W}{{40,}}|\bsecret_{_W}{{43}}\b",
         prefilter=f"ntn_{_W}{{20}}|secret_{_W}{{43}}"),
    _key("airtable-token", "Airtable token", "pat", rf"\bpat{_W}{{14}}\.{_HEX}{{64}}",
         prefilter=rf"pat{_W}{{14}}\.{_HEX}"),
    _key("contentful-token", "Contentful token", "CFPAT-", rf"CFPAT-{_U}{{43}}"),
    _key("mapbox-secret-token", "Mapbox secret token", "sk.eyJ", rf"\bsk\.eyJ{_U}{{20,}}\.{_U}{{20,}}"),
    _key("age-secret-key", "age secret key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
)  # fmt: skip

SERVICES: tuple[Rule, ...] = (
    _key("slack-token", "Slack token", "xoxa- xoxb- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xoxd- xoxc-",
         r"xox(?:[abcdeoprs]-|e\.)[A-Za-z0-9.%-]{10,}"),
    _key("slack-app-token", "Slack app token", "xapp-", r"xapp-[0-9]-[A-Za-z0-9-]{10,}"),
    _key("slack-webhook", "Slack webhook", "hooks.slack.com",
         r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/]{20,})", group=1),
    _key("discord-webhook", "Discord webhook", "discord.com/api/webhooks discordapp.com/api/webhooks",
         rf"discord(?:app)?\.com/api/webhooks/[0-9]{{15,22}}/({_U}{{60,}})", group=1),
    _key("telegram-bot-token", "Telegram bot token", ":AA", rf"\b[0-9]{{8,10}}:AA{_U}{{33}}",
         prefilter=f"[0-9]:AA{_U}"),
    _key("stripe-key", "Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_",
         rf"\b[sr]k_(?:live|test)_{_W}{{16,}}"),
    _key("webhook-signing-secret", "Signing secret of webhooks, of Stripe or Standard Webhooks", "whsec_",
         r"\bwhsec_[A-Za-z0-9+/]{24,}=*"),
    _key("square-token", "Square token", "sq0atp- sq0csp-", rf"sq0(?:atp|csp)-{_U}{{22,}}"),
    _key("shopify-token", "Shopify token", "shpat_ shpca_ shppa_ shpss_",
         r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
    _key("plaid-access-token", "Plaid access token", "access-sandbox- access-development- access-production-",
         r"access-(?:sandbox|development|production)-[0-9a-f-]{36}"),
    _key("sendgrid-key", "SendGrid key", "SG.", rf"\bSG\.{_U}{{16,32}}\.{_U}{{16,64}}",
         prefilter=rf"SG\.{_U}{{16}}"),
    _key("twilio-api-key", "Twilio API key", "SK", rf"\bSK{_HEX}{{32}}\b", prefilter=f"SK{_HEX}{{32}}"),
    _key("twilio-auth-token", "Twilio auth token", "twilio_auth_token twilioAuthToken",
         rf"(?i:twilio_?auth_?token){ASSIGNED}([0-9a-f]{{32}})", group=1,
         prefilter="(?i:twilio_?auth_?token)"),
    _key("mailgun-key", "Mailgun key", "key-", rf"\bkey-{_HEX}{{32}}\b", prefilter=f"key-{_HEX}{{32}}"),
    _key("mailchimp-key", "Mailchimp key", "-us", rf"\b{_HEX}{{32}}-us[0-9]{{1,2}}\b",
         prefilter=f"{_HEX}-us[0-9]"),
    _key("brevo-key", "Brevo key", "xkeysib-", rf"xkeysib-{_HEX}{{64}}-{_W}{{16}}"),
    _key("resend-key", "Resend key", "re_", rf"\bre_{_W}{{8}}_{_W}{{24}}",
         prefilter=f"re_{_W}{{8}}_{_W}{{20}}"),
    _key("dropbox-token", "Dropbox token", "sl.", rf"\bsl\.(?:u\.)?{_U}{{100,}}",
         prefilter=rf"sl\.(?:u\.)?{_U}{{40}}"),
)  # fmt: skip

VENDORS: tuple[Rule, ...] = (*CLOUD, *MODELS, *DEVELOPMENT, *SERVICES)
