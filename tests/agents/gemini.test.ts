import { limitScenarios } from '../support/providers/limit-scenarios.ts';
import { agentScenarios, type Differences } from '../support/providers/scenarios.ts';
import { taskScenarios } from '../support/providers/task-scenarios.ts';

const gemini: Differences = {
  name: 'gemini',
  model: 'gemini-2.5-pro',
  protocol: 'gemini',
  sideQuestions: 0,
  refused: 'goes on',
  reasons: { unauthorized: /\(401\)/, limited: /\(429\)/, failing: /\(500\)/, cut: /./ },
  // a stream that breaks off behind a proxy is none of the errors that it tries again
  attempts: { unauthorized: 1, limited: 2, failing: 2, cut: 1 },
};

agentScenarios(gemini);
taskScenarios(gemini);
limitScenarios(gemini);
