import { chatStep, summaryStep } from './chat-steps.ts';
import { kennelStep } from './kennel-steps.ts';
import type { ScriptStep } from './script.ts';
import type { Situation } from './situation.ts';
import { type OfferedTool, useOf } from './use.ts';

/** What the practice model does now. The same situation always gives the same answer. */
export function practiceStep(situation: Situation, tools: readonly OfferedTool[]): ScriptStep {
  const use = useOf(tools);
  return (tools.length === 0 ? summaryStep(situation) : null) ?? kennelStep(situation, use) ?? chatStep(situation, use);
}
