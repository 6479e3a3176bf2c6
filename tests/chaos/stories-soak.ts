import { runStory } from '../stories/run.ts';
import { STORIES } from '../stories/stories.ts';

/** Every story with kills, one after the other. The exit code: 1 where something was lost, doubled or stuck. */
export async function soakStories({ seed, only }: { seed: number; only?: string | undefined }): Promise<number> {
  let bad = 0;
  console.log(
    '| story | steps | processes killed | lost | doubled | stuck | model steps asked again | seconds |\n|---|---:|---:|---:|---:|---:|---:|---:|',
  );
  for (const story of STORIES.filter(({ title }) => only === undefined || title.includes(only))) {
    const told = await runStory(story, { kills: true, seed }).catch((error: Error) => ({ error }));
    if ('error' in told) {
      bad += 1;
      console.log(`| ${story.title} | did not end: ${told.error.message} |`);
      continue;
    }
    const { lost, doubled, stuck, steps, killed, askedAgain, seconds } = told;
    const count = Object.values(killed).reduce((sum, each) => sum + each, 0);
    console.log(
      `| ${story.title} | ${steps} | ${count} | ${lost.length} | ${doubled.length} | ${stuck.length} | ${askedAgain} | ${seconds} |`,
    );
    const found = [...lost, ...doubled, ...stuck];
    for (const finding of found) console.log(`- ${finding}`);
    bad += found.length;
  }
  return bad === 0 ? 0 : 1;
}
