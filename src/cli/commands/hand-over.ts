import { command } from './program.ts';

export function addHandOverCommand(): void {
  command(
    'hand-over',
    'Make a file of a session of Claude Code or Codex on this machine, for the word take in the chat; --apply goes on with one that give has sent',
    'fetch hand-over ~/shop',
    (self, [folder = '.']) =>
      async () => {
        const { apply, ...options } = self.opts<{ apply?: string; session?: string; out?: string }>();
        if (apply === undefined)
          process.stderr.write(await (await import('../home/hand-over/hand-over.ts')).handOver(folder, options));
        else process.stdout.write(await (await import('../home/hand-over/apply.ts')).apply(apply, folder));
      },
  )
    .argument('[folder]', 'of the project; where you are when left out')
    .option('--session <id>', 'the session; the newest one of the project when left out')
    .option('--out <file>', 'where to write it; beside the folder when left out')
    .option('--apply <file>', 'go on here with the session in this file');
}
