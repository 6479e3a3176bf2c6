import { differs, type Sentence, type Silent, says, shown } from './register.ts';

const rest = shown('conformance/contract');
const rules = shown('unit/gateway/channels/whatsapp/rules');
const inward = shown('unit/gateway/channels/whatsapp/inward');
const sessions = shown('conformance/sessions');
const policy = shown('unit/domain/policy');

const FIELDS = sessions('has every field of a session, and no invented value');
const run = shown('conformance/tools-run');
const STATES = { returns: 'task_status' };

export const TYPES: Sentence[] = [
  says(695, 'a gate decides who is heard', inward('defect 2: lets nothing of a stranger through, whatever it is')),
  says(
    698,
    'it says whether and why',
    inward('defect 2: lets nothing of a stranger through, whatever it is'),
    differs('`SecurityGate`, `RateLimiter`, `InputValidator`'),
  ),
  says(699, 'the owner is OWNER_PHONE_NUMBER', rules('gives the role by either address of the lists')),
  says(700, 'the trigger is taken off', rest('the trigger is taken off the text, in any case of letters')),
  says(
    704,
    'a sliding window',
    rules('never admits more than the limit in any window, and keeps its word about when it will'),
  ),
  says(707, 'whether one more is allowed', rules('admits the limit, then says when the next is admitted')),
  says(
    708,
    'how many are left',
    rules('admits the limit, then says when the next is admitted'),
    differs('`SecurityGate`, `RateLimiter`, `InputValidator`'),
  ),
  says(
    [709, 710],
    'state can be reset',
    rules('does not lock an author out when the clock was set back'),
    differs('`SecurityGate`, `RateLimiter`, `InputValidator`'),
  ),
  says(712, '30 messages in 60 seconds', rest('by default a person may write 30 messages in 60 seconds')),
  says(716, 'input is cleaned', inward('loses what nobody sees, and keeps every script, line and emoji')),
  says(
    719,
    'validation says what is wrong',
    rest('null bytes and control characters are taken out, and nothing else of a text is refused: %s'),
    differs('`InputValidator`'),
  ),
  says(
    721,
    'what input blocks',
    rest('null bytes and control characters are taken out, and nothing else of a text is refused: %s'),
    differs('`InputValidator`'),
  ),

  says(
    [726, 729],
    'a tool knows its session and the autonomy',
    policy('runs what is safe without asking, and nothing else in a supervised chat'),
  ),
  says(
    731,
    'autonomy comes from the preferences',
    shown('integration/turns/preferences')(
      'the model makes itself more careful without a question, and less only after a yes',
    ),
    sessions('has every field of a session, and no invented value'),
  ),
  says(
    733,
    'autonomy and ask_user',
    policy('defect 29: decides by the class of a tool alone'),
    differs('`ask_user` in a cautious or autonomous chat'),
  ),
  says(
    734,
    'dangerous tools in a supervised and a cautious chat',
    policy(
      'defect 32: asks before a command of the model in a cautious chat, and before tests and tasks in a supervised one',
    ),
    policy('defect 23: takes no consent from an argument of the model'),
    differs('a dangerous tool in a supervised chat'),
  ),

  says(
    [738, 753],
    'every field of a session',
    FIELDS,
    sessions('shows the project and its branch'),
    differs('`activeFiles`, `repoMap`'),
  ),
  says(
    [757, 768],
    'every field of a task',
    run('leaves a task with the fields of the contract'),
    differs('fields of a task'),
  ),
  says(761, 'states of a task', STATES, run('leaves a task with the fields of the contract')),
  says(
    770,
    'transitions of a task',
    shown('integration/tasks/coding-task')(
      'defect 27: asks, and goes on with the answer that a person gives in their own words',
    ),
    STATES,
  ),
];

export const TYPES_SILENT: Silent[] = [691, 693, 697, 702, 706, 714, 718, 724, 736, 755].map((line) => ({
  from: line,
  to: line,
  why: 'heading',
}));
