// An agent of the Vercel AI SDK, with the telemetry of the page.
import { registerOTel } from "@vercel/otel";

registerOTel({ serviceName: "support-bot" });
const { generateText, tool, stepCountIs } = await import("ai");
const { createOpenAI } = await import("@ai-sdk/openai");
const { z } = await import("zod");

const openai = createOpenAI({ baseURL: `${process.env.MODEL_SERVER}/v1`, apiKey: "none" });
const weather = tool({
  description: "Tell the weather of a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `sunny in ${city}`,
});
const found = await generateText({
  model: openai.chat("gpt-stub-1"),
  prompt: "Weather in Oslo?",
  stopWhen: stepCountIs(3),
  tools: { get_weather: weather },
  experimental_telemetry: {
    isEnabled: true,
    functionId: "weather_agent",
    metadata: { sessionId: "conv-1" },
  },
});
if (found.text !== "It is sunny in Oslo.") throw new Error(found.text);
await new Promise((done) => setTimeout(done, 6_000)); // the exporter sends every five seconds
