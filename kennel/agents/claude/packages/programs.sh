link claude "cli/node_modules/@anthropic-ai/claude-code-linux-$arch/claude"
link claude-agent-acp acp/node_modules/.bin/claude-agent-acp
