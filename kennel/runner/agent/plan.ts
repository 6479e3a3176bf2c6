import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ToolCallUpdate } from '@agentclientprotocol/sdk';

/** Whether an agent asks to leave its mode for plans, by which it hands in a plan. */
export const isPlan = (kind: string | null): boolean => kind === 'switch_mode';

/** The plan in such a request: its argument `plan`, or its text. Null when it has none. */
export function planIn({ rawInput, content }: ToolCallUpdate): string | null {
  const argument = rawInput && typeof rawInput === 'object' ? (rawInput as Record<string, unknown>).plan : undefined;
  if (typeof argument === 'string' && argument.trim() !== '') return argument;
  const texts = (content ?? []).flatMap((part) =>
    part.type === 'content' && part.content.type === 'text' ? [part.content.text] : [],
  );
  const text = texts.join('\n').trim();
  return text === '' ? null : text;
}

/** The plan of a folder that was written last; null when there is none. */
export function newestPlan(folder: string): string | null {
  try {
    const plans = readdirSync(folder).filter((name) => name.endsWith('.md'));
    const [newest] = plans
      .map((name) => ({ path: join(folder, name), at: statSync(join(folder, name)).mtimeMs }))
      .sort((a, b) => b.at - a.at);
    return newest ? readFileSync(newest.path, 'utf8').trim() || null : null;
  } catch {
    return null;
  }
}
