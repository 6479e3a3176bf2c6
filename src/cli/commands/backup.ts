import { command } from './program.ts';

export function addBackupCommands(): void {
  command(
    'backup',
    'Write all that a running instance has stored into one encrypted file',
    'fetch backup /media/disk/fetch.backup --workspaces',
    (self, [file]) =>
      async (config) =>
        (await import('../home/backup/backup.ts')).run(config, file, self.opts()),
  )
    .argument('[file]', 'where to; a file in this folder, named by the time, when it is left out')
    .option('--workspaces', 'with the folder of workspaces');
  command(
    'restore',
    'Unpack a backup into an empty home',
    'fetch restore fetch.backup --home ~/.fetch',
    (self, [file]) =>
      async (config) =>
        (await import('../home/backup/restore.ts')).run(config, file!, self.opts()),
  )
    .argument('<file>', 'what fetch backup has written')
    .option('--dry-run', 'check the file and show what is in it');
}
