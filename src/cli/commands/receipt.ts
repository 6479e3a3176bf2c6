import { command } from './program.ts';

export function addReceiptCommand(): void {
  command(
    'receipt',
    'Show what a turn or task called, was allowed, reached, spent and changed, signed by this home',
    'fetch receipt tsk_4k2j9x0abc --json > receipt.json',
    (self, [id]) =>
      async (config) =>
        (await import('../home/receipt.ts')).show(config, id!, self.opts()),
  )
    .argument('<id>', 'of the turn or task, or the number of the receipt')
    .option('--json', 'print it whole, as bin/verify-receipt.js checks it');
}
