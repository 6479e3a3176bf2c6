import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CONTRACT } from './contract-tools.ts';
import { NANOCLAW, NANOCLAW_ELEMENTS } from './register/nanoclaw.ts';
import { CONTRACT_LINES, CONTRACT_SHA256, type Proof } from './register/register.ts';
import { STATUS_API, STATUS_SILENT } from './register/status-api.ts';
import { TOOLS, TOOLS_SILENT } from './register/tools.ts';
import { TYPES, TYPES_SILENT } from './register/types.ts';

/** Every line of the contract has a proof. With FETCH_CONTRACT=<file>, its text is compared, too. */

const root = join(import.meta.dirname, '../..');
const sentences = [...STATUS_API, ...TOOLS, ...TYPES];
const silent = [...STATUS_SILENT, ...TOOLS_SILENT, ...TYPES_SILENT];
/** Empty lines of the contract. */
const EMPTY = readFileSync(join(import.meta.dirname, 'register/empty-lines.txt'), 'utf8')
  .trim()
  .split(/\s+/)
  .map(Number);

const texts = new Map<string, string>();
const textOf = (file: string): string => {
  if (!texts.has(file)) texts.set(file, readFileSync(join(root, file), 'utf8'));
  return texts.get(file)!;
};
const rows = textOf('docs/differences.md')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .map((line) => line.slice(2));

/** Null when there is such a proof, else what is missing. */
function missing(proof: Proof): string | null {
  if ('title' in proof)
    return new RegExp(`\\(\\s*['"\`]${RegExp.escape(proof.title)}`).test(textOf(proof.file))
      ? null
      : `${proof.file}: ${proof.title}`;
  if ('returns' in proof)
    return textOf('tests/conformance/tools-run.test.ts').includes(`returns('${proof.returns}'`)
      ? null
      : `no run of ${proof.returns}`;
  if ('differs' in proof)
    return rows.some((row) => row.startsWith(proof.differs)) ? null : `docs/differences.md: ${proof.differs}`;
  const declared = CONTRACT[proof.declares];
  if (!declared) return `no declaration of ${proof.declares}`;
  const { argument } = proof;
  const { call, needs = [], defaults = {}, accepts = [], refuses = [] } = declared;
  const said =
    argument === undefined ||
    needs.includes(argument) ||
    [call, defaults, ...accepts, ...refuses].some((args) => argument in args);
  return said ? null : `${proof.declares} has no ${argument}`;
}

it('has a test for each element that users of NanoClaw have, and a row where ours is another', () => {
  expect(NANOCLAW).toHaveLength(NANOCLAW_ELEMENTS);
  expect(
    NANOCLAW.flatMap(({ says, proofs }) =>
      proofs.flatMap((proof) => missing(proof) ?? []).map((what) => `${says}: ${what}`),
    ),
  ).toEqual([]);
  expect(NANOCLAW.filter(({ proofs }) => !proofs.some((proof) => 'title' in proof)).map(({ says }) => says)).toEqual(
    [],
  );
});

describe('the register', () => {
  it('has every line of the contract, as a sentence or with a reason why it promises nothing', () => {
    const known = new Set(EMPTY);
    for (const { from, to } of [...sentences, ...silent]) for (let line = from; line <= to; line++) known.add(line);
    const all = Array.from({ length: CONTRACT_LINES }, (_, at) => at + 1);
    expect(all.filter((line) => !known.has(line))).toEqual([]);
    expect([...known].filter((line) => line < 1 || line > CONTRACT_LINES)).toEqual([]);
  });

  it('names for each sentence a test that exists, and where ours differs the row that says so', () => {
    const lacking = sentences.flatMap(({ from, says, proofs }) =>
      proofs.flatMap((proof) => missing(proof) ?? []).map((what) => `line ${from} (${says}): ${what}`),
    );
    expect(lacking).toEqual([]);
  });

  it('shows each sentence by a test, also where ours differs', () => {
    expect(
      sentences.filter(({ proofs }) => !proofs.some((proof) => !('differs' in proof))).map(({ from }) => from),
    ).toEqual([]);
  });

  if (process.env.FETCH_CONTRACT)
    it('is about this text of the contract', () => {
      const text = readFileSync(process.env.FETCH_CONTRACT!, 'utf8');
      expect(createHash('sha256').update(text).digest('hex')).toBe(CONTRACT_SHA256);
      const lines = text.trimEnd().split('\n');
      expect(lines).toHaveLength(CONTRACT_LINES);
      expect(lines.flatMap((line, at) => (line.trim() === '' ? at + 1 : []))).toEqual(EMPTY);
    });
});
