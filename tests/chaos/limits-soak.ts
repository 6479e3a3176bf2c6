import { type LimitChaosOptions, runLimitChaos } from './limits.ts';

/** The long run; prints its figures and returns the exit code. */
export async function soakLimits(options: LimitChaosOptions): Promise<number> {
  const { findings, kills, resumedMs, refused } = await runLimitChaos(options);
  console.log(
    `kills: ${Object.entries(kills)
      .map(([victim, count]) => `${victim} ${count}`)
      .join(', ')}\n`,
  );
  console.log('| limit | tasks | refused requests | went on after its end, s |\n|---|---:|---:|---|');
  for (const [kind, times] of Object.entries(resumedMs))
    console.log(
      `| ${kind} | ${options.tasks} | ${refused[kind]} | ${times.map((ms) => (ms / 1_000).toFixed(1)).join(', ')} |`,
    );
  for (const finding of findings) console.log(`- ${finding}`);
  return findings.length > 0 ? 1 : 0;
}
