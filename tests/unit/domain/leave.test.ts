import { describe, expect, it } from 'vitest';
import { asksLeaveOnly } from '../../../src/domain/consent/leave.ts';

describe('a question that only asks for leave', () => {
  it.each([
    ['Shall I proceed?'],
    ['I found three files that need a change. Shall I go on?'],
    ['The tests pass now, so should I commit?'],
    ['Do you want me to continue?', ['Yes', 'No']],
    ['Would you like me to delete the old build?', ['Yes, delete it', 'No, cancel']],
    ['Is it OK if I install the packages?'],
    ['Can I continue?', ['Proceed', 'Stop']],
    ['May I run the migration, or not?'],
    ['Should I proceed or stop?'],
    ['Proceed?'],
    ['Ready to start?'],
    ['Ok to go ahead'],
    ['Please confirm.'],
    ['Can you confirm that I may delete it?'],
    ['Do I have your permission to push?'],
    ['Soll ich weitermachen?', ['Ja', 'Nein']],
    ['Darf ich die Datei löschen?'],
    ['Dois-je continuer ?'],
    ['¿Puedo continuar?'],
    ['**Shall I proceed?**'],
  ])('is %s', (question, options: string[] = []) => {
    expect(asksLeaveOnly({ question, options })).toBe(true);
  });

  it.each([
    ['Which database shall I use?'],
    ['Should I use PostgreSQL or SQLite?'],
    ['Shall I proceed, and with which branch?'],
    ['What is the address of the server?'],
    ['Do you want dark mode?', ['Dark', 'Light']],
    ['May I have the name of the customer?'],
    ['Shall I proceed?', ['With npm', 'With pnpm']],
    ['How should I name it?'],
    ['Who may read it?'],
    ['Where are the keys?'],
    ['Do you have an account there?'],
    ['Is the server yours?'],
    ['Name of the customer?'],
    ['Welche Farbe soll der Knopf haben?'],
    ['Soll ich npm oder pnpm nehmen?'],
    [''],
  ])('is not %s', (question, options: string[] = []) => {
    expect(asksLeaveOnly({ question, options })).toBe(false);
  });
});
