import { PAIRED } from '../support/pairs.ts';
import { type PairsOptions, type PairsResult, runPairsChaos } from './pairs.ts';
import type { PairKill, PairVictim } from './pairs-killer.ts';

const VICTIMS: readonly PairVictim[] = [...PAIRED, 'frozen'];

/** The long run; prints its figures and returns the exit code. */
export async function soakPairs(options: PairsOptions): Promise<number> {
  let count = 0;
  const onKill = ({ victim, at, answeredMs, tookOverMs }: PairKill): void => {
    count += 1;
    console.log(
      `${count} ${victim} ${at}: answered after ${answeredMs} ms${tookOverMs === null ? '' : `, WhatsApp again after ${tookOverMs} ms`}`,
    );
  };
  const result = await runPairsChaos({ ...options, onKill });
  console.log(pairsReport(result));
  return findings(result).length > 0 ? 1 : 0;
}

const findings = ({ lost, doubled, stuck, whatsapp }: PairsResult): string[] => [
  ...lost,
  ...doubled,
  ...stuck,
  ...whatsapp.disordered,
  ...whatsapp.unreadable,
  ...whatsapp.problems,
];

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
const spread = (values: readonly number[]): string =>
  values.length ? `${median(values)} / ${Math.max(...values)}` : '';

export function pairsReport(result: PairsResult): string {
  const rows = VICTIMS.map((victim) => {
    const kills = result.kills.filter((kill) => kill.victim === victim);
    const takeovers = kills.flatMap(({ tookOverMs }) => (tookOverMs === null ? [] : [tookOverMs]));
    return `| ${victim} | ${kills.length} | ${spread(kills.map((kill) => kill.answeredMs))} | ${spread(takeovers)} |`;
  });
  const { ended, questions } = result.tasks;
  const { whatsapp } = result;
  return [
    '| victim | times | a message sent then is answered, p50 / max, ms | WhatsApp is connected again, p50 / max, ms |',
    '|---|---:|---:|---:|',
    ...rows,
    '',
    `seconds ${result.seconds}; messages over HTTP ${result.messages}, requests repeated by clients ${result.retries}, model steps asked again ${result.askedAgain}`,
    `WhatsApp: in ${whatsapp.inbound}, out ${whatsapp.outbound}, same id on the wire again ${whatsapp.resent}, linked again ${whatsapp.pairedAgain}`,
    `tasks: completed ${ended.completed}, failed ${ended.failed}, cancelled ${ended.cancelled}; questions ${questions.asked}; schedule due ${result.due} times`,
    `lost ${result.lost.length}, doubled ${result.doubled.length}, stuck ${result.stuck.length}`,
    ...findings(result).map((finding) => `- ${finding}`),
  ].join('\n');
}
