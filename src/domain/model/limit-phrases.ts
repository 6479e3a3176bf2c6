/**
 * How a failed turn of a coding agent tells of a limit, by the beginning of its text. An agent passes on what it ran
 * into, so a phrase may be the agent's own or its model provider's. A line in front says whose. All were read in the
 * pinned versions of the agents or seen from them. The exceptions say where they are from.
 */

/** A person must do something: pay, choose another plan, log in. */
export const PERSON: readonly RegExp[] = [
  // Claude Code: spending caps and credits
  /^You've (?:hit|reached) your [\w' -]{0,40}(?:spend limit|group budget|usage credit limit)\b/i,
  /^You've (?:hit|reached) your (?:individual|org's monthly|channel's monthly) usage limit\b/i,
  /^You're out of (?:usage credits|extra usage)\b/i,
  /^Your org is out of usage\b/i,
  /^Credit balance is too low/i,
  /^Usage credits ran out\b|^(?:Your claude\.ai login|Not logged in|Login expired).{0,120}\bit doesn't have enough credit\b/i,
  // Claude Code: the plan or its administrator
  /^Your seat type doesn't include\b/i,
  /^Your usage allocation has been disabled\b/i,
  /^Your group's usage limit is set to \$0/i,
  /^(?:Fable|Opus|Sonnet|Haiku)[\w. ]{0,20} requires usage credits\b/i,
  /^Usage is paused for your organization\b/i,
  /^Your organization has disabled\b/i,
  /^Your account is on hold\b/i,
  /^This service is disabled for your org\b/i,
  // Claude Code: the log-in
  /^(?:Not logged in|Login expired|Session expired|Invalid API key|OAuth token)\b.{0,80}\brun \/login\b|^Please run \/login\b/i,
  // every agent, by the protocol (-32000)
  /^Authentication required\b/i,
  // Codex
  /^Quota exceeded\. Check your plan\b/i,
  /^To use Codex with your ChatGPT plan, upgrade\b/i,
  /^(?:Your workspace is|You're) out of credits\b/i,
  /^You hit your spend cap\b/i,
  // Copilot CLI; the first from public threads
  /^(?:402 )?You have no quota\b/i,
  /^You've run out of your [\w ]{0,20}AI credits\b/i,
  /^You've reached (?:the spending limit for this session|your additional usage limit)\b/i,
  /^Authentication failed with provider\b/i,
  // Gemini CLI: not in the plan, from its source
  /^You exceeded your current quota\b.{0,600}\blimit: 0(?![\d.])|^(?:INSUFFICIENT_G1_CREDITS_BALANCE|VALIDATION_REQUIRED)\b/,
  // Anthropic, from its documentation
  /^Your credit balance is too low\b/i,
  /^You have reached your specified API usage limits\b/i,
  // OpenRouter, DeepSeek and OpenAI, from their documentation
  /^(?:Insufficient (?:Balance|credits)|This request requires more credits)\b/i,
  /^[\w ]{0,40}\b(?:insufficient_quota|credit_balance_exhausted|(?:usage_limit|spend_limit)_exceeded|billing_error|usage_not_included|quota_exceeded)\b/,
];

/** OpenAI says this of an empty account. Gemini also says it of a full minute, and then names a time. */
export const PERSON_WITHOUT_TIME = /^You exceeded your current quota\b/i;

/** Capacity of the provider, not a limit of this account: minutes. */
export const OVERLOAD: readonly RegExp[] = [
  // Claude Code and its adapter
  /^Repeated 529 Overloaded errors\b/i,
  /^(?:Opus|Fable|Sonnet|Claude) is (?:experiencing high load|temporarily overloaded)\b/i,
  // Codex; the last one is what it makes of any internal error of the server
  /^Selected model is at capacity\b/i,
  /^Policy-restricted capacity is unavailable\b/i,
  /^We're currently experiencing high demand\b/i,
  // Gemini CLI
  /^(?:No capacity available for model|MODEL_CAPACITY_EX)/i,
  // OpenCode, and providers as they say it: Anthropic, OpenAI, Gemini; Ollama from public threads
  /^Provider is overloaded\b/i,
  /^Overloaded$/i,
  /^(?:Our servers are|The (?:server|model|engine) is) (?:currently |temporarily )?overloaded\b/i,
  /^(?:overloaded_error|server_is_overloaded|slow_down)\b/,
  /^Server busy, please try again\b/i,
];

/** A window of time is used up. It opens again by itself. */
export const WAIT: readonly RegExp[] = [
  // Claude Code; "limit reached" in older versions, from public threads and its documentation
  /^You've (?:hit|reached) your [\w .-]{0,40}limit\b/i,
  /^(?:Claude (?:AI )?)?(?:5-hour |weekly |session |Opus (?:weekly )?)?(?:usage )?limit reached\b/i,
  /^Server is temporarily limiting requests\b/i,
  /^Request rejected \(429\)/i,
  /^Claude is temporarily rate limited\b/i,
  // Codex, through a stream of the Responses API
  /^stream disconnected before completion: Rate limit reached for\b/i,
  /^You've reached your usage limit\b/i,
  // Copilot CLI; the last two from public threads
  /^You've hit (?:your|the) (?:session )?rate limit\b/i,
  /^You've reached your weekly rate limit\b/i,
  /^(?:Sorry, )?you've (?:hit|exceeded) [^.]{0,60}rate limit/i,
  /^(?:user_weekly_|user_global_|user_model_|integration_)?rate_limited\b/,
  // Gemini CLI
  /^Rate limit exceeded\. Try again later\b/i,
  /^You have exhausted your (?:daily quota|capacity) on this model\b/i,
  // OpenCode
  /^(?:[\w -]{1,30} )?usage limit reached\. It will reset\b/i,
  /^Free usage exceeded\b/i,
  // providers as they say it: OpenAI, Anthropic, OpenRouter
  /^Rate limit (?:reached for|exceeded)\b/i,
  /^Too Many Requests\b/i,
  /^This request would exceed (?:your|the) [^.]{0,60}rate limit\b/i,
  /^(?:rate_limit_error|rate_limit_exceeded|usage_limit_reached)\b/,
];

/** Days that end at midnight somewhere else, whatever delay stands beside them. */
export const DAYS: ReadonlyArray<readonly [RegExp, zone: string]> = [
  [/\bexhausted your daily quota\b|\bPerDay/, 'America/Los_Angeles'], // Gemini
  [/\bfree-models-per-day\b/, 'UTC'], // OpenRouter
];

/**
 * Money is missing, and yet a window of the plan opens at a time that is named (Claude Code): that one can be waited
 * for.
 */
export const WINDOW_BESIDE_MONEY =
  /^You're out of usage credits [·∙] (resets .{1,80})|[·∙] your [\w -]{1,40} (resets .{1,80})/i;

/** Our own gate, for the budget of a task: neither the agent nor the provider is at a limit. */
export const OWN_BUDGET = /\bThe budget for [^:]{1,100} is used up: /;
