import { agentScenarios } from '../support/providers/scenarios.ts';

agentScenarios({
  harness: 'codex',
  model: 'scripted',
  protocol: 'openai-responses',
  sideQuestions: 0,
  refused: 'ends its turn',
  reasons: { unauthorized: /Authentication required/, limited: /429/, failing: /high demand/, cut: /stream disconnected/ },
  // a request that fails is tried again, and so is the stream that it was for
  attempts: { unauthorized: 2, limited: 2, failing: 4, cut: 2 },
});
