import { type Kysely, sql } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import * as foundation from './migrations/0001-foundation.ts';
import * as spending from './migrations/0002-spending.ts';
import * as whatsapp from './migrations/0003-whatsapp.ts';
import * as kennel from './migrations/0004-kennel.ts';
import * as whatsappUploads from './migrations/0005-whatsapp-uploads.ts';
import * as tasks from './migrations/0006-tasks.ts';
import * as reconcile from './migrations/0008-reconcile.ts';
import * as indexes from './migrations/0009-indexes.ts';
import * as schedules from './migrations/0010-schedules.ts';
import * as hostLeases from './migrations/0013-host-leases.ts';
import * as consent from './migrations/0014-consent.ts';
import * as taint from './migrations/0015-taint.ts';
import * as whatsappChatPauses from './migrations/0016-whatsapp-chat-pauses.ts';
import * as requestKeys from './migrations/0017-request-keys.ts';
import * as turnModes from './migrations/0018-turn-modes.ts';
import * as modelWaits from './migrations/0019-model-waits.ts';
import * as requiredConditions from './migrations/0020-required-conditions.ts';
import * as modelLimits from './migrations/0021-model-limits.ts';
import * as plans from './migrations/0024-plans.ts';
import * as signatures from './migrations/0025-signatures.ts';
import * as egress from './migrations/0026-egress.ts';
import * as registryAddresses from './migrations/0027-registry-addresses.ts';
import * as setupScripts from './migrations/0028-setup-scripts.ts';
import * as commands from './migrations/0031-commands.ts';
import * as sessions from './migrations/0032-sessions.ts';
import * as preferences from './migrations/0038-preferences.ts';
import * as memories from './migrations/0039-memories.ts';
import * as cachedTokens from './migrations/0040-cached-tokens.ts';
import * as imports from './migrations/0041-imports.ts';
import * as sessionCounts from './migrations/0042-session-counts.ts';
import * as extensions from './migrations/0043-extensions.ts';
import * as apps from './migrations/0044-apps.ts';
import * as mcpLogins from './migrations/0046-mcp-logins.ts';
import * as cronInputs from './migrations/0047-cron-inputs.ts';
import * as repositoryMaps from './migrations/0048-repository-maps.ts';
import * as payloadKeys from './migrations/0049-payload-keys.ts';
import * as audit from './migrations/0050-audit.ts';
import * as reasoningTokens from './migrations/0051-reasoning-tokens.ts';
import * as threadCopies from './migrations/0052-thread-copies.ts';
import * as threadSummaries from './migrations/0053-thread-summaries.ts';
import * as backgroundTasks from './migrations/0054-background-tasks.ts';
import * as automations from './migrations/0055-automations.ts';
import * as workspaceEdits from './migrations/0056-workspace-edits.ts';
import * as owner from './migrations/0058-owner.ts';
import * as traces from './migrations/0061-traces.ts';
import * as directCalls from './migrations/0062-direct-calls.ts';
import * as modelFacts from './migrations/0063-model-facts.ts';
import * as stepState from './migrations/0064-step-state.ts';
import * as toolFamilies from './migrations/0065-tool-families.ts';
import * as budgets from './migrations/0066-budgets.ts';
import * as peopleAndRefusals from './migrations/0067-people-and-refusals.ts';
import * as whatsappTimers from './migrations/0068-whatsapp-timers.ts';
import * as estimatedSteps from './migrations/0069-estimated-steps.ts';
import * as ownContent from './migrations/0070-own-content.ts';
import * as scheduledTurns from './migrations/0074-scheduled-turns.ts';
import * as proof from './migrations/0075-proof.ts';
import * as telegram from './migrations/0077-telegram.ts';
import * as push from './migrations/0079-push.ts';
import * as seenFailures from './migrations/0081-seen-failures.ts';
import * as groups from './migrations/0082-groups.ts';
import * as ship from './migrations/0083-ship.ts';
import * as taskWords from './migrations/0084-task-words.ts';
import * as judge from './migrations/0085-judge.ts';
import * as secondChannel from './migrations/0089-second-channel.ts';
import * as wordsOfTests from './migrations/0090-words-of-tests.ts';
import * as profiles from './migrations/0092-profiles.ts';
import * as namesOfTests from './migrations/0093-names-of-tests.ts';
import * as pullRequestWaits from './migrations/0094-pull-request-waits.ts';
import * as browserLogins from './migrations/0095-browser-logins.ts';

/**
 * Versioned migrations, oldest first. Never edit a published one: add the next. The previous release must work with
 * what a migration leaves (new tables; new columns with a default), because people go back to it. If it cannot, the
 * migration has `breaking` in its name. Each is in a file of the same name.
 */
const migrations: Record<string, Migration> = {
  '0001_foundation': foundation,
  '0002_spending': spending,
  '0003_whatsapp': whatsapp,
  '0004_kennel': kennel,
  '0005_whatsapp_uploads': whatsappUploads,
  '0006_tasks': tasks,
  '0008_reconcile': reconcile,
  '0009_indexes': indexes,
  '0010_schedules': schedules,
  '0013_host_leases': hostLeases,
  '0014_consent': consent,
  '0015_taint': taint,
  '0016_whatsapp_chat_pauses': whatsappChatPauses,
  '0017_request_keys': requestKeys,
  '0018_turn_modes': turnModes,
  '0019_model_waits': modelWaits,
  '0020_required_conditions': requiredConditions,
  '0021_model_limits': modelLimits,
  '0024_plans': plans,
  '0025_signatures': signatures,
  '0026_egress': egress,
  '0027_registry_addresses': registryAddresses,
  '0028_setup_scripts': setupScripts,
  '0031_commands': commands,
  '0032_sessions': sessions,
  '0038_preferences': preferences,
  '0039_memories': memories,
  '0040_cached_tokens': cachedTokens,
  '0041_imports': imports,
  '0042_session_counts': sessionCounts,
  '0043_extensions': extensions,
  '0044_apps': apps,
  '0046_mcp_logins': mcpLogins,
  '0047_cron_inputs': cronInputs,
  '0048_repository_maps': repositoryMaps,
  '0049_payload_keys': payloadKeys,
  '0050_audit': audit,
  '0051_reasoning_tokens': reasoningTokens,
  '0052_thread_copies': threadCopies,
  '0053_thread_summaries': threadSummaries,
  '0054_background_tasks': backgroundTasks,
  '0055_automations': automations,
  '0056_workspace_edits': workspaceEdits,
  '0058_owner': owner,
  '0061_traces': traces,
  '0062_direct_calls': directCalls,
  '0063_model_facts': modelFacts,
  '0064_step_state': stepState,
  '0065_tool_families': toolFamilies,
  '0066_budgets': budgets,
  '0067_people_and_refusals': peopleAndRefusals,
  '0068_whatsapp_timers': whatsappTimers,
  '0069_estimated_steps': estimatedSteps,
  '0070_own_content': ownContent,
  '0074_scheduled_turns': scheduledTurns,
  '0075_proof': proof,
  '0077_telegram': telegram,
  '0079_push': push,
  '0081_seen_failures': seenFailures,
  '0082_groups': groups,
  '0083_ship': ship,
  '0084_task_words': taskWords,
  '0085_judge': judge,
  '0089_second_channel': secondChannel,
  '0090_words_of_tests': wordsOfTests,
  '0092_profiles': profiles,
  '0093_names_of_tests': namesOfTests,
  '0094_pull_request_waits': pullRequestWaits,
  '0095_browser_logins': browserLogins,
};

/** A newer version has changed the database so that this version cannot use it. It must not be touched. */
class NewerSchemaError extends Error {
  constructor(found: string[]) {
    super(
      `The database has migrations that this version does not know (${found.join(', ')}): it was last used by a newer version. ` +
        'Update this program, or point DATABASE_URL at another database. Nothing was changed.',
    );
    this.name = 'NewerSchemaError';
  }
}

/** What a database lacks of this version, and what it has of a newer one. */
export async function schemaState(db: Kysely<never>): Promise<{ missing: string[]; newer: string[] }> {
  const known: string[] = Object.keys(migrations);
  const applied = await sql<{ name: string }>`select name from kysely_migration`.execute(db).then(
    (result) => result.rows.map((row) => row.name),
    (): string[] => [],
  );
  return {
    missing: known.filter((name) => !applied.includes(name)),
    newer: applied.filter((name) => !known.includes(name)),
  };
}

export async function migrate(db: Kysely<never>): Promise<void> {
  const { missing, newer } = await schemaState(db);
  const breaking = newer.filter((name) => name.includes('breaking'));
  if (breaking.length > 0) throw new NewerSchemaError(breaking);
  // there may be unexpected ones in between
  if (newer.length > 0 && missing.length > 0) throw new NewerSchemaError(newer);
  if (missing.length === 0) return;
  const migrator = new Migrator({ db, provider: { getMigrations: async () => migrations } });
  const { error } = await migrator.migrateToLatest();
  if (error) throw error;
}
