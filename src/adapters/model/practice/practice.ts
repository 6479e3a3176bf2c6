import { toldToPerson } from '../../../domain/chat/words/step-words.ts';
import { resultAgain } from '../../../domain/texts/again.ts';
import { chatStep, summaryStep } from './chat-steps.ts';
import { type ScriptStep, type Use, useOf } from './script.ts';
import type { OfferedTool, Situation } from './situation.ts';

const DEMO =
  'write hello.txt hello; wait 20; ask Which name shall it greet? | Ada | Grace; append hello.txt , {answer}; run cat hello.txt';

/** What the practice model does with workspaces and coding tasks; null when a message is about something else. */
function kennelStep({ user, step, last, say }: Situation, use: Use): ScriptStep | null {
  const text = user.trim();
  const word = text.toLowerCase();
  const result = toldToPerson(last, (how, workspace) => say(`begun.${how}`, { workspace }));
  const told: ScriptStep = { say: resultAgain(result, say).slice(0, 3_000) };

  const created =
    /^(?:create|make|new) (?:a )?workspace(?: called| named)?\s+(\S+)(?:\s+(?:from|with|as)\s+(\w+))?/i.exec(text);
  if (created) {
    const [, name = 'demo', template = 'node'] = created;
    return step > 0
      ? told
      : use(
          'workspace_create',
          [
            [['name'], name],
            [['template'], template.toLowerCase()],
          ],
          say('practice.makes'),
        );
  }
  const selected = /^(?:select|use|switch to) (?:the )?workspace\s+(\S+)/i.exec(text)?.[1];
  if (selected) return step > 0 ? told : use('workspace_select', [[['name'], selected]], say('practice.switches'));
  if (/^(?:list )?workspaces$/.test(word)) return step > 0 ? told : use('workspace_list', [], say('practice.looks'));

  const planned = /^plan:\s*([\s\S]+)$/i.exec(text)?.[1];
  if (planned)
    return step > 0
      ? told
      : use(
          'task_create',
          [
            [['goal'], planned],
            [['agent'], 'practice'],
          ],
          say('practice.plans'),
        );

  const task = /^(?:start a |start |new )?task(?: with (\w+))?(?::\s*([\s\S]+))?$/i.exec(text);
  if (task) {
    const [, agent = 'practice', goal = DEMO] = task;
    return step > 0
      ? told
      : use(
          'task_create',
          [
            [['goal'], goal],
            [['agent'], agent.toLowerCase()],
          ],
          say('practice.hands'),
        );
  }
  if (/^(?:task status|tasks|how is the task)\??$/.test(word))
    return step > 0 ? told : use('task_status', [], say('practice.looks'));
  const command = /^(?:run|shell):\s*([\s\S]+)$/i.exec(text)?.[1];
  // what a program prints is no text of ours
  const printed: ScriptStep = { say: toldToPerson(last).slice(0, 3_000) };
  if (command) return step > 0 ? printed : use('shell_run', [[['command'], command]], say('practice.runsIt'));
  return null;
}

/** The next step of the practice model. The same situation always gives the same answer. */
export function practiceStep(situation: Situation, tools: readonly OfferedTool[]): ScriptStep {
  const use = useOf(tools, situation.say);
  return (tools.length === 0 ? summaryStep(situation) : null) ?? kennelStep(situation, use) ?? chatStep(situation, use);
}
