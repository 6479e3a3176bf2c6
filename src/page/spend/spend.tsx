import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { BudgetUse, OwnerSpend, SpendFigures } from '../../contracts/owner.ts';
import { SettingsForm } from '../settings/data.tsx';
import { ChatLink, Shown } from '../shared/elements/parts.tsx';
import { clock, money, tokens } from '../shared/figures.ts';
import { linkTo } from '../shared/route.ts';
import { moreThanText, Resource, useResource } from '../shared/server/resource.ts';
import { Store, useStore } from '../shared/store.ts';
import { texts } from '../texts.ts';
import { SpendPlot } from './plot-view.tsx';

const PERIODS = [7, 30, 90];
/** The fullest come first. */
const SHOWN_BUDGETS = 6;
const period = new Store(30);
const spend = new Resource<OwnerSpend>(
  () => `/v1/owner/spend?days=${period.value}`,
  (event) => event.about === 'tasks' || (event.about === 'thread' && moreThanText(event)),
  4_000,
);
period.watch(() => spend.reset());

/** The cost of models: today against its budgets, by day, and what was dearest. */
export const SpendPart = () => (
  <div class="page-column">
    <div class="title-line">
      <h1>{texts.parts.spend}</h1>
      <Periods />
    </div>
    <Shown of={spend} loaded={useResource(spend)}>
      {(value) => <Everything spend={value} />}
    </Shown>
  </div>
);

function Periods() {
  const chosen = useStore(period);
  return (
    <div class="tabs">
      {PERIODS.map((days) => (
        <button key={days} type="button" class="tab" aria-pressed={days === chosen} onClick={() => period.set(days)}>
          {texts.spend.period(days)}
        </button>
      ))}
    </div>
  );
}

function Everything({
  spend: { total_today: today, resets_at: resets, budgets, days, models, chats, tasks },
}: {
  spend: OwnerSpend;
}) {
  const total = days.reduce((sum, day) => sum + day.cost_usd, 0);
  const dearest = Math.max(0, ...days.map((day) => day.cost_usd));
  return (
    <>
      <dl class="facts big">
        <Figure
          name={texts.spend.today}
          value={money(today.cost_usd)}
          more={`${tokens(today.tokens)} ${texts.spend.tokens.toLowerCase()}`}
        />
        <Figure name={texts.spend.periodTotal(days.length)} value={money(total)} />
        <Figure name={texts.spend.average} value={money(total / Math.max(1, days.length))} />
        <Figure name={texts.spend.dearest} value={money(dearest)} />
      </dl>
      {today.unpriced_usd > 0 && <p class="hint">{texts.spend.unpriced(money(today.unpriced_usd))}</p>}
      <section class="section">
        <h2>{texts.spend.days}</h2>
        {total === 0 ? <p class="hint">{texts.spend.nothing}</p> : <SpendPlot days={days} />}
      </section>
      <section class="section">
        <h2>{texts.spend.budgets}</h2>
        {budgets.length === 0 ? (
          <p class="hint">{texts.spend.noBudgets}</p>
        ) : (
          <ul class="rows">
            {budgets.slice(0, SHOWN_BUDGETS).map((budget) => (
              <Budget
                key={`${budget.scope}${budget.task_id}${budget.chat.thread_id}${budget.unit}${budget.used}`}
                budget={budget}
              />
            ))}
          </ul>
        )}
        <p class="hint">{texts.spend.resets(clock(Date.parse(resets)))}</p>
      </section>
      <Dearest
        title={texts.spend.byModel}
        rows={models.map(({ model, ...figures }) => ({ key: model, name: model, figures }))}
      />
      <Dearest
        title={texts.spend.byChat}
        rows={chats.map(({ chat, ...figures }) => ({ key: chat.thread_id, name: <ChatLink chat={chat} />, figures }))}
      />
      <Dearest
        title={texts.spend.byTask}
        rows={tasks.map(({ id, goal, ...figures }) => ({
          key: id,
          name: <a href={linkTo('tasks', id)}>{goal}</a>,
          figures,
        }))}
      />
    </>
  );
}

const Figure = ({ name, value, more }: { name: string; value: string; more?: string }) => (
  <div class="fact">
    <dt>{name}</dt>
    <dd>
      {value} {more && <small>{more}</small>}
    </dd>
  </div>
);

function Budget({
  budget: { scope, chat, task_id: task, unit, used, limit, setting, reached_at: reached },
}: {
  budget: BudgetUse;
}) {
  const share = limit > 0 ? Math.min(1, used / limit) : 1;
  const told = unit === 'usd' ? money : tokens;
  const tone = share >= 1 ? 'bad' : share >= 0.8 || reached ? 'wait' : 'good';
  return (
    <li class="row budget">
      <div class="row-main">
        <p class="row-title">{task ? <a href={linkTo('tasks', task)}>{chat.name}</a> : <ChatLink chat={chat} />}</p>
        <progress class={tone} max={1} value={share} aria-label={`${texts.spend.scopes[scope]} ${chat.name}`} />
        <p class="meta">
          <span>{texts.spend.scopes[scope]}</span>
          <span>{texts.spend.of(told(used), told(limit))}</span>
          {reached && <span class="state wait">{texts.spend.reached(clock(Date.parse(reached)))}</span>}
        </p>
        <Raise setting={setting} limit={limit} />
      </div>
    </li>
  );
}

/** The limit of a budget, to change where it is seen. */
function Raise({ setting, limit }: Pick<BudgetUse, 'setting' | 'limit'>) {
  const [open, setOpen] = useState(false);
  if (!open)
    return (
      <button type="button" class="button small quiet" onClick={() => setOpen(true)}>
        {texts.spend.raise}
      </button>
    );
  return (
    <SettingsForm
      fields={[{ name: setting, label: texts.spend.limit, kind: 'number', placeholder: String(limit) }]}
      saved={() => {
        setOpen(false);
        spend.refresh();
      }}
    />
  );
}

type Row = { key: string; name: ComponentChildren; figures: Pick<SpendFigures, 'tokens' | 'cost_usd'> };

function Dearest({ title, rows }: { title: string; rows: Row[] }) {
  const most = Math.max(...rows.map(({ figures }) => figures.cost_usd), 0);
  if (rows.length === 0) return null;
  return (
    <section class="section">
      <h2>{title}</h2>
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">
              <span class="sr">{title}</span>
            </th>
            <th scope="col">{texts.spend.tokens}</th>
            <th scope="col">{texts.spend.cost}</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, 12).map(({ key, name, figures }) => (
            <tr key={key}>
              <td>
                {name}
                <meter max={1} value={most > 0 ? figures.cost_usd / most : 0} aria-hidden="true" />
              </td>
              <td>{tokens(figures.tokens)}</td>
              <td>{money(figures.cost_usd)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
