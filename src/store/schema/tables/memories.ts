import type { ColumnType } from 'kysely';
import type { Source } from '../../../contracts/taint.ts';
import type { Created, Json } from '../columns.ts';

export interface MemoryTable {
  id: string;
  /** `owner` for the owner's own chats, the chat's id for every other chat */
  owner: string;
  body: string;
  /** what the turn had read that made it; a memory with sources is never in a prompt by itself */
  sources: Json<Source[]>;
  created_at: Created;
  words: ColumnType<string, never, never>;
}

export interface MemoryDatabase {
  memories: MemoryTable;
}
