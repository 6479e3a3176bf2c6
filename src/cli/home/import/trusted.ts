import { join } from 'node:path';
import { phoneOf } from '../../../domain/whatsapp/identity.ts';
import { importTrusted } from '../../../store/home/imports/imports.ts';
import { JsonFile } from './files.ts';
import { nothing, type Part } from './found.ts';

/**
 * `whitelist.json`: numbers that may write besides the owner's. `done`: taken over before; who was removed since stays
 * removed.
 */
export function readTrusted({ data, done }: { data: string; done: ReadonlySet<string> }): Part {
  const part = nothing();
  const json = JsonFile.read(join(data, 'whitelist.json'), part.problems);
  for (const [at, written] of (json?.list('trustedNumbers', part.problems) ?? []).entries()) {
    const phone = typeof written === 'string' ? phoneOf(written) : null;
    if (phone === null)
      part.problems.push({
        file: json!.file,
        line: json!.lineOf('trustedNumbers', at),
        text: 'This is no number with its country code.',
      });
    else if (!part.found.some(({ what }) => what === `trusted number +${phone}`))
      part.found.push({
        what: `trusted number +${phone}`,
        here: done.has(phone),
        take: async ({ db }) => {
          await importTrusted(db, phone);
          return null;
        },
      });
  }
  return part;
}
