import { parseArgs } from 'node:util';
import { type Kill, VICTIMS } from './killer.ts';
import { type ChaosResult, runChaos } from './run.ts';

const USAGE = `Kills processes of a whole instance at random while scripted chats run, then looks for what was lost or doubled.

  npm run chaos -- --kills 100 --seed 7

  --kills N     processes to kill (default 60)
  --seed S      seed of the random choices (default: the time)
  --chats N     chats that talk all the while (default 5)
  --waiting N   chats that wait on a question all the while (default 3)
  --schedules N at least so many firings of schedules are due meanwhile (default: one schedule of every minute)
  --minutes M   stop killing after so long
  --whatsapp    people write on a local WhatsApp instead; the library's default is put through the same
  --messages N  messages that they write (default 300; with --whatsapp)
  --pairs       two of every role on one database and one Temporal server are killed in turn instead; --chats, --tasks and --messages say what goes on
  --limits N    so many tasks for each kind of limit wait for their model instead
  --tasks N     people have so many coding tasks done in containers instead
  --engine N    so many of the kills hit the Docker engine itself, where nothing else runs on it (with --tasks; default 0)
  --stories     tells each story of tests/stories with every role killed between every two steps instead
  --strict      the provider of the model wants its state back with each step; worker and PostgreSQL are killed
  --keep DIR    keeps the logs and what else a defect is found by there (with --pairs, --whatsapp or --tasks)`;

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

export function report(result: ChaosResult): string {
  const rows = VICTIMS.map((victim) => {
    const times = result.kills.filter((kill) => kill.victim === victim).map((kill) => kill.recoveryMs);
    return `| ${victim} | ${times.length} | ${median(times)} | ${Math.max(0, ...times)} |`;
  });
  const all = result.kills.map((kill) => kill.recoveryMs);
  return [
    '| role | kills | recovery p50, ms | max, ms |',
    '|---|---:|---:|---:|',
    ...rows,
    `| all | ${all.length} | ${median(all)} | ${Math.max(0, ...all)} |`,
    '',
    `messages ${result.messages}, lost ${result.lost.length}, doubled ${result.doubled.length}, stuck ${result.stuck.length}`,
    `model steps asked again before an answer was stored ${result.askedAgain}, requests repeated by clients ${result.retries}`,
    `questions kept open ${result.questions}, firings due ${result.due}, ${result.seconds} s`,
    ...[...result.lost, ...result.doubled, ...result.stuck].map((finding) => `- ${finding}`),
  ].join('\n');
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      kills: { type: 'string', default: '60' },
      seed: { type: 'string', default: String(Date.now() % 1_000_000) },
      chats: { type: 'string', default: '5' },
      waiting: { type: 'string', default: '3' },
      minutes: { type: 'string' },
      schedules: { type: 'string' },
      whatsapp: { type: 'boolean', default: false },
      messages: { type: 'string', default: '300' },
      pairs: { type: 'boolean', default: false },
      tasks: { type: 'string' },
      limits: { type: 'string' },
      stories: { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      engine: { type: 'string', default: '0' },
      keep: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) {
    console.log(USAGE);
    process.exit(0);
  }
  const [kills, seed, chats, waiting] = [values.kills, values.seed, values.chats, values.waiting].map(Number) as [
    number,
    number,
    number,
    number,
  ];
  if (![kills, seed, chats, waiting].every(Number.isInteger)) {
    console.error(`Whole numbers are wanted.\n\n${USAGE}`);
    process.exit(2);
  }
  console.log(`seed ${seed}, ${kills} kills`);
  const maxMinutes = values.minutes === undefined ? undefined : Number(values.minutes);
  let count = 0;
  const onKill = ({ victim, recoveryMs }: Kill): void => {
    count += 1;
    console.log(`${count}/${kills} ${victim}: answered again after ${recoveryMs} ms`);
  };
  if (values.stories) {
    const { soakStories } = await import('./stories-soak.ts');
    process.exit(await soakStories({ seed }));
  }
  if (values.limits) {
    const { soakLimits } = await import('./limits-soak.ts');
    process.exit(await soakLimits({ seed, kills, tasks: Number(values.limits) }));
  }
  if (values.pairs) {
    const { soakPairs } = await import('./pairs-soak.ts');
    process.exit(
      await soakPairs({
        seed,
        kills,
        chats,
        tasks: Number(values.tasks ?? 30),
        messages: Number(values.messages),
        keep: values.keep,
      }),
    );
  }
  if (values.whatsapp) {
    const { soakWhatsApp } = await import('./whatsapp-soak.ts');
    process.exit(await soakWhatsApp({ seed, kills, messages: Number(values.messages), maxMinutes }, values.keep));
  }
  if (values.tasks !== undefined) {
    const { soakTasks } = await import('./tasks-soak.ts');
    process.exit(
      await soakTasks(
        { seed, kills, tasks: Number(values.tasks), engineKills: Number(values.engine), maxMinutes },
        values.keep,
      ),
    );
  }
  const result = await runChaos({
    seed,
    kills,
    maxMinutes,
    chats,
    waiting,
    schedule: !values.strict,
    ...(values.schedules && { firings: Number(values.schedules) }),
    strict: values.strict,
    onKill,
  });
  console.log(report(result));
  process.exit(result.lost.length + result.doubled.length + result.stuck.length > 0 ? 1 : 0);
}
