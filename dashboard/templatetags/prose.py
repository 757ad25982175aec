"""Markdown in templates."""

from django import template

from dashboard.markup import markdown

register = template.Library()
register.filter("markdown", markdown)
