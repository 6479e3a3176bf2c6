/**
 * Kinds of items for tool calls, as clients of the runtime API know them: they show commands and file changes
 * differently.
 */
export type CallItemKind = 'tool_call' | 'file_change' | 'command_execution';
