import { limitScenarios } from '../support/providers/limit-scenarios.ts';
import { agentScenarios, type Differences } from '../support/providers/scenarios.ts';
import { taskScenarios } from '../support/providers/task-scenarios.ts';

const copilot: Differences = {
  name: 'copilot',
  model: 'scripted',
  protocol: 'openai-chat',
  sideQuestions: 0,
  refused: 'ends its turn',
  reasons: {
    unauthorized: /Authentication failed with provider/,
    limited: /429/,
    failing: /500/,
    cut: /Failed to get response/,
  },
  // numbers of its own
  attempts: { unauthorized: 3, limited: 6, failing: 6, cut: 6 },
};

agentScenarios(copilot);
taskScenarios(copilot);
limitScenarios(copilot);
