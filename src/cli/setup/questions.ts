import { updateSettings } from '@clack/prompts';

// Ctrl-D ends the input of a question on a terminal. Nobody could answer it then, and Node would end the process with a
// warning.
updateSettings({ aliases: { '\x04': 'cancel' } });

export { isCancel } from '@clack/prompts';
