import type { ComponentChildren } from 'preact';
import type { TaskDetail } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Tag, useNow } from '../shared/elements/parts.tsx';
import { duration, money, tokens } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { Markdown } from '../shared/text/markdown-view.tsx';
import { texts } from '../texts.ts';

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>{children}</dd>
  </div>
);

/** The head of the page shows a shorter request whole. */
const GOAL_CHARS = 70;
const TONES = { verified: 'good', partly: 'wait', unverified: 'bad' } as const;

export const TaskOverview = ({ task, children }: { task: TaskDetail; children: ComponentChildren }) => (
  <div class="pane-scroll">
    {children}
    {task.reason && task.state !== 'completed' && <p class="turn-note bad">{task.reason}</p>}
    {(task.summary || task.report) && (
      <Part title={texts.tasks.report}>
        <Markdown text={task.report ?? task.summary ?? ''} threadId={task.chat.thread_id} />
      </Part>
    )}
    {task.said && !task.report && (
      <Part title={texts.tasks.said}>
        <Markdown text={task.said} />
      </Part>
    )}
    {task.verdict && (
      <Part title={texts.tasks.verdict}>
        <p>
          <Tag tone={TONES[task.verdict.level]}>{texts.tasks.levels[task.verdict.level]}</Tag>{' '}
          {texts.tasks.counted(task.verdict)}
        </p>
        {task.verdict.before && (
          <p class="hint">{`${texts.tasks.before}: ${texts.tasks.counted(task.verdict.before)}`}</p>
        )}
        {task.verdict.reasons.map((reason) => (
          <Markdown key={reason} text={reason} />
        ))}
      </Part>
    )}
    {task.tests && (
      <Part title={texts.tasks.tests}>
        <p>
          <Tag tone={task.tests.ok ? 'good' : 'bad'}>{task.tests.ok ? texts.tasks.passed : texts.tasks.notPassed}</Tag>{' '}
          <code>{task.tests.command}</code>
        </p>
        {task.tests.output && <Output text={task.tests.output} />}
      </Part>
    )}
    {task.goal.length > GOAL_CHARS && (
      <Part title={texts.tasks.request}>
        <p class="why">{task.goal}</p>
      </Part>
    )}
    {task.plan && (
      <Part title={texts.tasks.plan}>
        <Markdown text={task.plan.text} />
      </Part>
    )}
    <Facts task={task} />
    {task.usage.length > 0 && <Usage usage={task.usage} />}
    {task.egress.length > 0 && <Network egress={task.egress} />}
  </div>
);

const Output = ({ text }: { text: string }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls is reached by keyboard
  <pre class="plain" tabIndex={0}>
    {text}
  </pre>
);

const Part = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <section class="section">
    <h3>{title}</h3>
    {children}
  </section>
);

function Facts({ task }: { task: TaskDetail }) {
  const now = useNow();
  const began = task.started_at ?? task.created_at;
  return (
    <dl class="facts">
      <Fact name={texts.tasks.agent}>{task.agent}</Fact>
      <Fact name={texts.tasks.workspace}>
        <bdi>{task.workspace}</bdi>
      </Fact>
      {(task.changes?.branch ?? task.branch) && (
        <Fact name={texts.tasks.branch}>
          <Icon name="branch" size={14} /> <bdi>{task.changes?.branch ?? task.branch}</bdi>
        </Fact>
      )}
      {task.changes?.commit && (
        <Fact name={texts.tasks.commit}>
          <code>{task.changes.commit.slice(0, 10)}</code>
        </Fact>
      )}
      <Fact name={texts.tasks.took}>
        {duration((task.ended_at ? Date.parse(task.ended_at) : now) - Date.parse(began))}
      </Fact>
      <Fact name={texts.tasks.cost}>{money(task.cost_usd)}</Fact>
      <Fact name={texts.tasks.tokens}>{tokens(task.tokens)}</Fact>
      <Fact name={texts.tasks.sections.changes}>
        {task.changes ? (
          <a href={linkTo('tasks', task.id, 'changes')}>
            {texts.tasks.changed(task.changes.files_changed)} <span class="plus">+{task.changes.added}</span>{' '}
            <span class="minus">−{task.changes.removed}</span>
          </a>
        ) : (
          texts.none
        )}
      </Fact>
    </dl>
  );
}

const Usage = ({ usage }: { usage: TaskDetail['usage'] }) => (
  <Part title={texts.tasks.sections.usage}>
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">{texts.tasks.model}</th>
          <th scope="col">{texts.tasks.calls}</th>
          <th scope="col">{texts.tasks.tokens}</th>
          <th scope="col">{texts.tasks.cost}</th>
        </tr>
      </thead>
      <tbody>
        {usage.map(({ model, calls, input_tokens: input, output_tokens: output, cost_usd: cost }) => (
          <tr key={model}>
            <td>{model}</td>
            <td>{calls}</td>
            <td>{tokens(input + output)}</td>
            <td>{money(cost)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </Part>
);

const Network = ({ egress }: { egress: TaskDetail['egress'] }) => (
  <Part title={texts.tasks.network}>
    <ul class="plain-list">
      {egress.map(({ to, port, connections, refused }) => (
        <li key={`${to}:${port}`}>
          <code>
            {to}:{port}
          </code>{' '}
          {connections > 0 && <span>{connections}×</span>}{' '}
          {refused > 0 && <Tag tone="bad">{`${refused}× ${texts.tasks.refused}`}</Tag>}
        </li>
      ))}
    </ul>
  </Part>
);
