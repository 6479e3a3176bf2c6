import { useState } from 'preact/hooks';
import type { OwnerSpend } from '../../contracts/owner.ts';
import { money } from '../shared/figures.ts';
import { texts } from '../texts.ts';
import { plotOf } from './plot.ts';

/** In units of the drawing, which is scaled to the page: a narrow one keeps its words readable on a phone. */
const widthOf = (screen: number): number => (screen > 760 ? 760 : 380);
const HEIGHT = 170;
const LEFT = 52;
const BOTTOM = 22;

const dayName = (day: string): string =>
  new Date(`${day}T12:00:00Z`).toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });

/** Cost by day: chats below, coding tasks above. A column says its amount when it is pointed at. */
export function SpendPlot({ days }: { days: OwnerSpend['days'] }) {
  const width = widthOf(innerWidth);
  const [told, setTold] = useState<number | null>(null);
  const { bars, lines } = plotOf(
    days.map(({ day, chats_usd: chats, tasks_usd: tasks }) => ({ label: dayName(day), parts: [chats, tasks] })),
    width - LEFT,
    HEIGHT,
  );
  const total = days.reduce((sum, { cost_usd: cost }) => sum + cost, 0);
  const every = Math.max(1, Math.ceil((bars.length * 90) / width));
  const day = told === null ? undefined : days[told];
  return (
    <figure class="plot">
      <svg
        viewBox={`0 0 ${width} ${HEIGHT + BOTTOM + 8}`}
        role="img"
        aria-label={texts.spend.plot(days.length, money(total))}
      >
        <g transform={`translate(${LEFT} 8)`}>
          {lines.map(({ y, amount }) => (
            <g key={amount}>
              <line class="grid" x1="0" x2={width - LEFT} y1={y} y2={y} />
              <text class="amount" x="-8" y={y + 4}>
                {money(amount)}
              </text>
            </g>
          ))}
          {bars.map(({ x, width: own, label, parts }, at) => (
            <g
              key={label}
              class={told === at ? 'told' : undefined}
              onPointerEnter={() => setTold(at)}
              onPointerLeave={() => setTold(null)}
            >
              <rect class="hit" x={x - 2} y="0" width={own + 4} height={HEIGHT} />
              {parts.map(({ y, height }, part) => (
                <rect
                  key={part}
                  class={part === 0 ? 'of-chats' : 'of-tasks'}
                  x={x}
                  y={y}
                  width={own}
                  height={height}
                  rx={Math.min(2, height / 2)}
                />
              ))}
              {at % every === 0 && (
                <text class="day" x={x + own / 2} y={HEIGHT + 17}>
                  {label}
                </text>
              )}
            </g>
          ))}
        </g>
      </svg>
      <figcaption class="meta">
        <span class="key of-chats">{texts.spend.chats}</span>
        <span class="key of-tasks">{texts.spend.tasks}</span>
        <span>{day && `${dayName(day.day)}: ${money(day.chats_usd)} + ${money(day.tasks_usd)}`}</span>
      </figcaption>
    </figure>
  );
}
