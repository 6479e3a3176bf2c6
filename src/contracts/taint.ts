/** The words of taint: where text of others comes from, and what must not happen on its word alone. */

/** What a turn may have read that the person did not write. */
export const SOURCE_KINDS = [
  /** a web page */
  'page',
  /** a file of a repository, its history and its names included */
  'file',
  /** what a command, a test or another program printed */
  'command',
  /** a document or a picture that came with a message, of any sender */
  'attachment',
  /** the report or the question of a coding agent */
  'report',
  /** the result of a workflow */
  'routine',
  /** somebody else than the owner, in a group or in a quote */
  'member',
  /** a part of an earlier tool result that was read on */
  'output',
  /** a tool of an MCP server */
  'mcp',
  /** stored before sources were noted */
  'unknown',
] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

export interface Source {
  kind: SourceKind;
  /** which one, in a few words: a host, a path, a name */
  label: string;
}

/** Effects that leave the machine, or that outlast the turn outside of a workspace. */
export const SINKS = ['fetch', 'publish', 'push', 'message', 'schedule', 'routine', 'task', 'egress', 'memory'] as const;
export type Sink = (typeof SINKS)[number];

/** What is stored with a call that has a sink. */
export interface CallTaint {
  /** what its turn had read when the model made the call */
  sources: Source[];
  /** sinks that a person has to allow; empty when all are granted or everything that is sent is the person's own */
  asks: Sink[];
  /** asked each time: no grant covers it */
  each?: true;
}
