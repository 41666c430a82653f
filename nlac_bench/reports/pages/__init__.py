"""What static pages share: hostile text, templates, the page's style and script, inline figures."""
