import { z } from 'zod';
import { suggestion } from '../../domain/text/nearest.ts';
import { listRoutines } from '../../store/routines/routines.ts';
import { toldInPrompt } from '../declarations.ts';
import type { ToolContext, ToolOutcome } from '../tool.ts';

export const nameOrId = z.string().trim().min(1).max(80).meta(toldInPrompt('Name or id'));

export async function noSuchWorkflow({ db, chatId }: ToolContext, wanted: string): Promise<ToolOutcome> {
  const names = (await listRoutines(db, chatId)).map((routine) => routine.name);
  return { ok: false, output: `There is no workflow "${wanted}" in this chat.${suggestion(wanted, names)}` };
}
