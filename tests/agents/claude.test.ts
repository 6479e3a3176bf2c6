import { limitScenarios } from '../support/providers/limit-scenarios.ts';
import { agentScenarios, type Differences } from '../support/providers/scenarios.ts';
import { taskScenarios } from '../support/providers/task-scenarios.ts';

const claude: Differences = {
  name: 'claude',
  model: null,
  protocol: 'anthropic',
  sideQuestions: 1,
  refused: 'goes on',
  reasons: {
    unauthorized: /Authentication required/,
    limited: /\(429\)/,
    failing: /API Error: 500/,
    cut: /Connection to the API was lost/,
  },
  attempts: { unauthorized: 2, limited: 2, failing: 2, cut: 3 },
};

agentScenarios(claude);
taskScenarios(claude);
limitScenarios(claude);
