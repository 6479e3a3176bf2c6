/** Kinds of the items that tell of tool calls, as clients of the runtime API know them: they show commands and changes of files in their own ways. */
export type CallItemKind = 'tool_call' | 'file_change' | 'command_execution';
