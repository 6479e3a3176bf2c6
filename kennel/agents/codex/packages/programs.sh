link codex "$(echo cli/node_modules/@openai/codex-linux-"$arch"/vendor/*/bin/codex)"
link codex-acp acp/node_modules/.bin/codex-acp
