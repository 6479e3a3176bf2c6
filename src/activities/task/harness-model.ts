import type { Config } from '../../config.ts';
import type { HarnessName } from '../../contracts/kennel.ts';

/** The model that a harness is told to use; null is its own default. */
export function modelNameFor(harness: HarnessName, config: Config): string | null {
  switch (harness) {
    case 'claude':
      return config.CLAUDE_MODEL ?? null;
    case 'gemini':
      return config.GEMINI_MODEL ?? null;
    case 'codex':
      return config.CODEX_MODEL ?? config.AGENT_MODEL ?? null;
    case 'copilot':
      return config.COPILOT_MODEL ?? config.AGENT_MODEL ?? null;
    case 'opencode':
      return config.OPENCODE_MODEL ?? config.AGENT_MODEL ?? null;
    case 'practice':
      return null;
  }
}
