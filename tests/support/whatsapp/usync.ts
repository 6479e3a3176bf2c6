import { bytes, child, children, el, isLid, SERVER, type Stanza, seconds } from './stanza.ts';
import { handsetOf, linked, type World } from './world.ts';

/** Who has WhatsApp, under which LID, on which devices. */
export function answerUsync(world: World, iq: Stanza): Stanza[] {
  const query = child(iq, 'usync');
  const asked = new Set(children(child(query, 'query')).map(({ tag }) => tag));
  const users = children(child(query, 'list'), 'user').map((entry) => {
    const phone = bytes(child(entry, 'contact')).toString().replace('+', '');
    const jid = entry.attrs.jid ?? `${phone}@${SERVER}`;
    const handset = handsetOf(world, jid);
    const facts: Stanza[] = [];
    if (asked.has('contact'))
      facts.push(el('contact', { type: handset ? 'in' : 'out' }, phone ? Buffer.from(`+${phone}`) : undefined));
    if (asked.has('devices')) facts.push(el('devices', {}, handset ? deviceList(world, handset === world.phone) : []));
    // a query by LID is not answered with the LID as its own phone number's
    if (asked.has('lid') && handset && !isLid(jid)) facts.push(el('lid', { val: handset.lid }));
    return el('user', { jid }, facts);
  });
  return [el('usync', { ...query?.attrs }, [el('result'), el('list', {}, users)])];
}

function deviceList(world: World, own: boolean): Stanza[] {
  const companions = own ? linked(world).map(({ device }) => el('device', { id: device, 'key-index': device })) : [];
  return [
    el('device-list', { hash: '2:fixture' }, [el('device', { id: 0 }), ...companions]),
    el('key-index-list', { ts: seconds() }),
  ];
}
