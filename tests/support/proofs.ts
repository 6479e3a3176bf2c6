import { readFileSync } from 'node:fs';
import { NANOCLAW } from '../conformance/register/nanoclaw.ts';
import { STATUS_API } from '../conformance/register/status-api.ts';
import { TOOLS } from '../conformance/register/tools.ts';
import { TYPES } from '../conformance/register/types.ts';

/** The original had as many numbered defects. A test whose name has the number shows that ours does not have it. */
export const DEFECTS = 53;

/** Lines of the table "Walls" of docs/security.md. Each names the tests that show it. */
export const wallClaims = (): string[] =>
  /\n## Walls\n([\s\S]*?)\n## /
    .exec(readFileSync(new URL('../../docs/security.md', import.meta.url), 'utf8'))![1]!
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| claim |'));
/** Paths from the root on. */
export const testsOf = (claim: string): string[] =>
  [...claim.matchAll(/\]\(\.\.\/(tests\/[\w./-]+\.test\.ts)\)/g)].map(([, file]) => file!);

export const defectsIn = (name: string): number[] =>
  [...name.matchAll(/\bdefect (\d+)\b/g)].map(([, number]) => Number(number));

/**
 * What no test of a whole run has shown, of the sentences of the contracts, the numbered defects and the walls.
 * `asserted`: the tests that have passed and asserted something, as `file > names of its groups > its name`.
 */
export function unproven(asserted: readonly string[]): string[] {
  const defects = new Set(asserted.flatMap(defectsIn));
  const files = new Set(asserted.map((each) => each.split(' > ')[0]!));
  const isShown = (file: string, title: string): boolean => {
    // a value of the table stands in the name in place of each `%s`
    const name = new RegExp(`^${RegExp.escape(file)} > (.* > )?${title.split('%s').map(RegExp.escape).join('.*')}`);
    return asserted.some((each) => name.test(each));
  };
  const sentences = [...STATUS_API, ...TOOLS, ...TYPES, ...NANOCLAW].flatMap(({ from, says, proofs }) =>
    proofs.flatMap((proof) => {
      if ('title' in proof) return isShown(proof.file, proof.title) ? [] : `line ${from} (${says}): ${proof.title}`;
      if ('returns' in proof)
        return isShown('tests/conformance/tools-run.test.ts', `${proof.returns} returns `)
          ? []
          : `line ${from} (${says}): the run of ${proof.returns}`;
      return [];
    }),
  );
  const numbers = Array.from({ length: DEFECTS }, (_, index) => index + 1).filter((number) => !defects.has(number));
  return [
    ...sentences,
    ...numbers.map((number) => `defect ${number}`),
    ...wallClaims()
      .flatMap(testsOf)
      .filter((file) => !files.has(file)),
  ];
}
