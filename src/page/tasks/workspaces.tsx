import type { EgressRuleView, OwnerWorkspace } from '../../contracts/owner.ts';
import { Icon } from '../shared/elements/icons.tsx';
import { Ago, Dot, Empty, Shown, Tag, WorkButton } from '../shared/elements/parts.tsx';
import { linkTo } from '../shared/route.ts';
import { send } from '../shared/server/http.ts';
import { useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';
import { TaskTabs, workspaces } from './shared.tsx';

export const Workspaces = () => (
  <div class="page-column scrolls">
    <div class="title-line">
      <h1>{texts.tasks.tabs.workspaces}</h1>
      <TaskTabs current="workspaces" />
    </div>
    <Shown of={workspaces} loaded={useResource(workspaces)}>
      {({ workspaces: all }) =>
        all.length === 0 ? (
          <Empty title={texts.tasks.workspacesNone} icon="branch">
            {texts.tasks.workspacesMore}
          </Empty>
        ) : (
          <div class="cards">
            {all.map((each) => (
              <Workspace key={`${each.host}/${each.path}`} workspace={each} />
            ))}
          </div>
        )
      }
    </Shown>
  </div>
);

function Workspace({ workspace }: { workspace: OwnerWorkspace }) {
  const { name, host, language, git, seen_at: seen, tasks, egress, shared_with: shared } = workspace;
  return (
    <article class="card" aria-label={name}>
      <h2>
        <bdi>{name}</bdi>
      </h2>
      <p class="meta">
        {git?.branch && (
          <span>
            <Icon name="branch" size={14} /> <bdi>{git.branch}</bdi>
          </span>
        )}
        {git && <GitState git={git} />}
        {language && <span>{language}</span>}
        <span>{host}</span>
        {seen && <Ago at={seen} />}
      </p>
      {tasks.length > 0 && (
        <ul class="plain-list">
          {tasks.map(({ id, goal, state, worktree }) => (
            <li key={id}>
              <Dot tone="busy" /> <a href={linkTo('tasks', id)}>{goal}</a>{' '}
              <span class="hint">
                {texts.tasks.states[state] ?? state}
                {worktree && ` · ${texts.tasks.worktree} ${worktree}`}
              </span>
            </li>
          ))}
        </ul>
      )}
      {shared.length > 0 && (
        <p class="hint">
          {texts.tasks.shared} {shared.join(', ')}
        </p>
      )}
      {egress.length > 0 && <Egress workspace={workspace} rules={egress} />}
    </article>
  );
}

function GitState({ git }: { git: NonNullable<OwnerWorkspace['git']> }) {
  const parts = [
    git.modified > 0 && texts.tasks.modified(git.modified),
    git.untracked > 0 && texts.tasks.untracked(git.untracked),
    git.ahead > 0 && texts.tasks.ahead(git.ahead),
    git.behind > 0 && texts.tasks.behind(git.behind),
  ].filter(Boolean);
  return <span>{parts.length > 0 ? parts.join(', ') : texts.tasks.clean}</span>;
}

const Egress = ({ workspace, rules }: { workspace: OwnerWorkspace; rules: EgressRuleView[] }) => (
  <section>
    <h3>{texts.tasks.egress}</h3>
    <ul class="plain-list">
      {rules.map(({ to, port, allowed, task_id: task, over }) => (
        <li key={`${to}:${port}/${task}`} class="egress-rule">
          <code>
            {to}:{port}
          </code>
          <Tag tone={allowed ? 'good' : 'bad'}>{allowed ? texts.tasks.allowed : texts.tasks.denied}</Tag>
          {!over && (
            <WorkButton
              label={texts.tasks.takeBack}
              kind="quiet"
              work={async () => {
                await send('/v1/owner/egress/remove', {
                  body: { host: workspace.host, workspace: workspace.name, to, port },
                });
                workspaces.refresh();
              }}
            />
          )}
        </li>
      ))}
    </ul>
  </section>
);
