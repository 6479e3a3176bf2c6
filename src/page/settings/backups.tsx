import type { OwnerBackups } from '../../contracts/owner.ts';
import { Problem, Shown, Tag } from '../shared/elements/parts.tsx';
import { bytes, moment } from '../shared/figures.ts';
import { Resource, useResource } from '../shared/server/resource.ts';
import { texts } from '../texts.ts';

const words = texts.settings.backups;
const backups = new Resource<OwnerBackups>('/v1/owner/backups', ({ about }) => about === 'settings', 5_000);

export const BackupsSection = () => (
  <Shown of={backups} loaded={useResource(backups)}>
    {({ folder, nightly, backups: all, problem }) => (
      <div class="card">
        <p class="meta">
          <Tag tone={nightly ? 'good' : 'wait'}>{nightly ? words.nightly : words.off}</Tag>
          {folder && <code>{folder}</code>}
        </p>
        {problem && <Problem text={problem} />}
        {nightly && all.length === 0 && <p class="hint">{words.none}</p>}
        <ul class="plain-list">
          {all.map(({ name, at, bytes: size }) => (
            <li key={name}>
              {moment(Date.parse(at))} <code>{name}</code> <span class="hint">{bytes(size)}</span>
            </li>
          ))}
        </ul>
        <p class="hint">{words.now}</p>
      </div>
    )}
  </Shown>
);
