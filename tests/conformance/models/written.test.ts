import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ModelError, type ModelTool } from '../../../src/adapters/model/model.ts';
import { Accumulator } from '../../../src/adapters/model/stream/accumulate.ts';
import { framesOf } from '../../../src/adapters/model/stream/frames.ts';
import { holds } from '../../support/property.ts';
import { callsOf, hear, TOOLS } from './ask.ts';
import { callChunk, chunk, DONE, event, type ScriptedAnswer, streamed } from './endpoint.ts';

const READ_A = ['file_read', { path: 'a.txt' }];
const READ_B = ['file_read', { path: 'b.txt' }];
const JSON_A = '{"name": "file_read", "arguments": {"path": "a.txt"}}';
const JSON_B = '{"name": "file_read", "arguments": {"path": "b.txt"}}';

/** The text in pieces of so many characters. */
const pieces = (text: string, size: number): string[] => text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? [];
const writes = (text: string, finish = 'stop', size = 3): ScriptedAnswer =>
  streamed(...pieces(text, size).map((content) => chunk({ content })), chunk({}, finish), DONE);

describe('thoughts that are written as text are thoughts', () => {
  test.each([
    ['<think>hm</think>Yes.', 'hm', 'Yes.'],
    ['\n<think>\nhm\n</think>\n\nYes.', '\nhm\n', 'Yes.'],
    ['<think>\n\n</think>\n\nYes.', '\n\n', 'Yes.'],
    ['<thinking>hm</thinking>\nYes.', 'hm', 'Yes.'],
    ['<thought>hm</thought>Yes.', 'hm', 'Yes.'],
    ['<reasoning>hm</reasoning>Yes.', 'hm', 'Yes.'],
    ['[THINK]hm[/THINK]Yes.', 'hm', 'Yes.'],
    ['◁think▷hm◁/think▷Yes.', 'hm', 'Yes.'],
    ['<seed:think>hm</seed:think>Yes.', 'hm', 'Yes.'],
    ['<|START_THINKING|>hm<|END_THINKING|>Yes.', 'hm', 'Yes.'],
    [
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>',
      'hm',
      'Yes.',
    ],
    ['<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>Yes.', 'hm', 'Yes.'],
    ['<scratchpad>hm</scratchpad>Yes.', 'hm', 'Yes.'],
    ['<scratch_pad>hm</scratch_pad>Yes.', 'hm', 'Yes.'],
    ['<reflection>hm</reflection>Yes.', 'hm', 'Yes.'],
    ['<longcat_think>hm</longcat_think>Yes.', 'hm', 'Yes.'],
    ['<ifm|think>hm</ifm|think>Yes.', 'hm', 'Yes.'],
    ['<THINK>hm</THINK>Yes.', 'hm', 'Yes.'],
    ['<Thinking>hm</Thinking>Yes.', 'hm', 'Yes.'],
    ['<|think|>hm<|/think|>Yes.', 'hm', 'Yes.'],
    ['<|channel>thought\nhm<channel|>Yes.<turn|>', 'thought\nhm', 'Yes.'],
    ['<unused94>thought\nhm<unused95>Yes.', 'thought\nhm', 'Yes.'],
    ['<|channel|>thought<|message|>hm<|end|>Yes.', 'hm', 'Yes.'],
    ['<|START_THINKING|>hm<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>', 'hm', 'Yes.'],
    ['<|begin_of_thought|>hm<|end_of_thought|>\n<|begin_of_solution|>Yes.<|end_of_solution|>', 'hm', 'Yes.'],
    ['<think>hm</think><answer>Yes.</answer>', 'hm', 'Yes.'],
    // a server that removes the tokens of harmony and leaves the names
    ['analysisIt wants a yes.assistantfinalYes.', 'It wants a yes.', 'Yes.'],
    ['<think>a < b and `x`</think>Yes.', 'a < b and `x`', 'Yes.'],
    ['<think budget="9">hm</think>Yes.', 'hm', 'Yes.'],
    ['<details type="reasoning" done="true" duration="3">hm</details>\nYes.', 'hm', 'Yes.'],
    ['<inner_monologue>hm</inner_monologue>Yes.', 'hm', 'Yes.'],
    ['<Chain_of_Thought>hm</Chain_of_Thought>\n\nYes.', 'hm', 'Yes.'],
    ['<analysis>hm</analysis>Yes.', 'hm', 'Yes.'],
    ['<|thought_start|>hm<|thought_end|>Yes.', 'hm', 'Yes.'],
    ['<｜begin▁of▁thought｜>hm<｜end▁of▁thought｜>Yes.', 'hm', 'Yes.'],
    ['<|think|>hm<|end|><|begin|>assistant<|content|>Yes.<|end|>', 'hm', 'Yes.'],
    ['<think>hm</think><|begin_of_box|>Yes.<|end_of_box|>', 'hm', 'Yes.'],
    ['<think>hm</think>\n<response>Yes.</response>', 'hm', 'Yes.'],
    ['Here is my thought process:\nhm\n\nHere is my response:\nYes.', '\nhm\n\n', 'Yes.'],
    ['Here are my reasoning steps:\nhm\n[BEGIN FINAL RESPONSE]\nYes.\n[END FINAL RESPONSE]', '\nhm\n', 'Yes.'],
    ['Thought: it wants a yes.\nFinal Answer: Yes.', 'it wants a yes.', 'Yes.'],
    ['[THINKING]hm[/THINKING]Yes.', 'hm', 'Yes.'],
    ['[REASONING]hm[/REASONING]Yes.', 'hm', 'Yes.'],
    ['<cot>hm</cot>Yes.', 'hm', 'Yes.'],
    ['<|reasoning|>hm<|/reasoning|>Yes.', 'hm', 'Yes.'],
    ['<｜thinking｜>hm<｜/thinking｜>Yes.', 'hm', 'Yes.'],
    ['<think>never closed', 'never closed', ''],
    ['First.\n<think>hm</think>\nThen.', 'hm', 'First.\n\nThen.'],
    // the template has opened the thought
    ['hm, a file</think>\n\nYes.', 'hm, a file', 'Yes.'],
    ['hm\n</think>\n\nYes.', 'hm\n', 'Yes.'],
    ['</think>\n\nYes.', '', 'Yes.'],
    ['hm[/THINK]Yes.', 'hm', 'Yes.'],
  ])('%j', async (text, thought, said) => {
    for (const size of [1, 4, 1000]) {
      const { answer } = await hear(writes(text, 'stop', size));
      expect([answer.reasoning, answer.text, answer.end]).toEqual([thought, said, 'complete']);
    }
  });

  test.each([
    'The tag `<think>` opens a thought, `</think>` closes it.',
    '```html\n<think>\nhm\n</think>\n```\nThat is how it looks.',
    'Models write <think> before they answer, and </think> behind it.',
    'First.\n<think> is a tag of Qwen.',
    'a < b, and b <c> d, [TOOL] and ◁ are text',
    'List<string> and <b>bold</b>, x <= y',
    'analysis of the file is done',
    '<answer>Yes.</answer>',
    '<analysis>The form that you asked for.</analysis>',
    '<reasons>Two of them',
    'Here is my thought on it.',
    'Thought: it is an old word.',
    'Qwen begins with <|im_start|>user\nand goes on.',
    'Use ~~this~~ and `that',
    '<',
    'ends with <thin',
  ])('but %j is text', async (text) => {
    for (const size of [1, 4, 1000])
      expect((await hear(writes(text, 'stop', size))).answer).toMatchObject({ text, reasoning: '' });
  });

  test('they stream as thoughts, and the answer as text', async () => {
    const heard = await hear(writes('<think>one two</think>\n\nthree', 'stop', 2));
    expect([heard.thought, heard.said]).toEqual(['one two', 'three']);
  });

  test('beside thoughts in a field of their own', async () => {
    const { answer } = await hear(
      streamed(chunk({ reasoning_content: 'a' }), chunk({ content: '<think>b</think>c' }), chunk({}, 'stop'), DONE),
    );
    expect([answer.reasoning, answer.text]).toEqual(['ab', 'c']);
  });
});

test.each([
  '<|im_start|>assistant\nYes.<|im_end|>',
  'Yes.<|im_end|>\n<|im_start|>user\nAnd then?<|im_end|>\n<|im_start|>assistant\nNo.',
  'Yes.<end_of_turn>\n<start_of_turn>user\nAnd then?',
  'Yes.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nAnd then?',
  'Yes.<|user|>',
  'Yes.<eos>',
  'Yes.<|END_OF_TURN_TOKEN|>',
])('tokens of a template, and the next message that a model makes up, are no part of the answer: %j', async (text) => {
  for (const size of [1, 4, 1000]) {
    const heard = await hear(writes(text, 'stop', size));
    expect([heard.answer.text, heard.said.trimEnd()]).toEqual(['Yes.', 'Yes.']);
  }
});

describe('a call that is written as text is a call', () => {
  const forms: Array<[string, string, unknown[]]> = [
    ['Hermes and Qwen (S23)', `<tool_call>\n${JSON_A}\n</tool_call>`, [READ_A]],
    ['two of them', `<tool_call>\n${JSON_A}\n</tool_call>\n<tool_call>\n${JSON_B}\n</tool_call>`, [READ_A, READ_B]],
    ['two in one tag', `<tool_call>\n${JSON_A}\n${JSON_B}\n</tool_call>`, [READ_A, READ_B]],
    ['without its end', `<tool_call>\n${JSON_A}`, [READ_A]],
    ['with "parameters"', '<tool_call>{"name": "file_read", "parameters": {"path": "a.txt"}}</tool_call>', [READ_A]],
    [
      'with the arguments as text',
      '<tool_call>{"name": "file_read", "arguments": "{\\"path\\": \\"a.txt\\"}"}</tool_call>',
      [READ_A],
    ],
    ['with doubled braces', '<tool_call>{{"name": "file_read", "arguments": {"path": "a.txt"}}}</tool_call>', [READ_A]],
    ['with a fence inside', `<tool_call>\n\`\`\`json\n${JSON_A}\n\`\`\`\n</tool_call>`, [READ_A]],
    ['<tools>-like list', `<tool_calls>[${JSON_A}, ${JSON_B}]</tool_calls>`, [READ_A, READ_B]],
    [
      'Qwen coder',
      '<tool_call>\n<function=file_read>\n<parameter=path>\na.txt\n</parameter>\n<parameter=lines>\n5\n</parameter>\n</function>\n</tool_call>',
      [['file_read', { path: 'a.txt', lines: 5 }]],
    ],
    [
      'Qwen coder without the outer tag',
      '<function=file_read>\n<parameter=path>\na.txt\n</parameter>\n</function>',
      [READ_A],
    ],
    [
      'Qwen coder with a text of lines',
      '<function=file_write>\n<parameter=path>\n1\n</parameter>\n<parameter=content>\none\n<b>two</b>\n</parameter>\n</function>',
      [['file_write', { path: '1', content: 'one\n<b>two</b>' }]],
    ],
    ['Llama 3.1', '<function=file_read>{"path": "a.txt"}</function>', [READ_A]],
    ['Llama 3.1 with a token', '<|python_tag|>{"name": "file_read", "parameters": {"path": "a.txt"}}', [READ_A]],
    [
      'Llama 3.1, two',
      '<|python_tag|>{"type": "function", "name": "file_read", "parameters": {"path": "a.txt"}}; {"name": "file_read", "parameters": {"path": "b.txt"}}<|eom_id|>',
      [READ_A, READ_B],
    ],
    ['Llama 4, as Python', '[file_read(path=\'a.txt\'), file_read(path="b.txt")]', [READ_A, READ_B]],
    [
      'LFM2',
      '<|tool_call_start|>[file_read(path="a.txt", whole=True, lines=-3)]<|tool_call_end|>',
      [['file_read', { path: 'a.txt', whole: true, lines: -3 }]],
    ],
    ['Mistral', `[TOOL_CALLS][${JSON_A}]`, [READ_A]],
    ['Mistral with a space', `[TOOL_CALLS] [${JSON_A}, ${JSON_B}]</s>`, [READ_A, READ_B]],
    [
      'Mistral, newer',
      '[TOOL_CALLS]file_read[ARGS]{"path": "a.txt"}[TOOL_CALLS]file_read[ARGS]{"path": "b.txt"}',
      [READ_A, READ_B],
    ],
    ['Mistral with an id', '[TOOL_CALLS]file_read[CALL_ID]abc123def[ARGS]{"path": "a.txt"}', [READ_A]],
    [
      'DeepSeek V3',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>file_read\n```json\n{"path": "a.txt"}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>file_read\n```json\n{"path": "b.txt"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      [READ_A, READ_B],
    ],
    [
      'DeepSeek V3.1',
      '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>file_read<｜tool▁sep｜>{"path": "a.txt"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
      [READ_A],
    ],
    [
      'DeepSeek V3.2',
      '<｜DSML｜function_calls>\n<｜DSML｜invoke name="file_read">\n<｜DSML｜parameter name="path" string="true">a.txt</｜DSML｜parameter>\n<｜DSML｜parameter name="lines" string="false">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>',
      [['file_read', { path: 'a.txt', lines: 5 }]],
    ],
    [
      'Kimi',
      '<|tool_calls_section_begin|><|tool_call_begin|>functions.file_read:0<|tool_call_argument_begin|>{"path": "a.txt"}<|tool_call_end|><|tool_call_begin|>functions.file_read:1<|tool_call_argument_begin|>{"path": "b.txt"}<|tool_call_end|><|tool_calls_section_end|>',
      [READ_A, READ_B],
    ],
    [
      'GLM',
      '<tool_call>file_read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n<arg_key>lines</arg_key>\n<arg_value>5</arg_value>\n</tool_call>',
      [['file_read', { path: 'a.txt', lines: 5 }]],
    ],
    ['GLM without arguments', '<tool_call>file_list\n</tool_call>', [['file_list', {}]]],
    ['Granite', `<|tool_call|>[${JSON_A}]`, [READ_A]],
    ['Phi', `<|tool_call|>[${JSON_A}]<|/tool_call|>`, [READ_A]],
    ['Phi mini', `functools[${JSON_A}]`, [READ_A]],
    [
      'harmony',
      '<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.file_read <|constrain|>json<|message|>{"path": "a.txt"}<|call|>',
      [READ_A],
    ],
    [
      'harmony with the recipient first',
      '<|start|>assistant to=functions.file_read<|channel|>commentary json<|message|>{"path": "a.txt"}<|call|>',
      [READ_A],
    ],
    [
      'MiniMax',
      '<minimax:tool_call>\n<invoke name="file_read">\n<parameter name="path">a.txt</parameter>\n</invoke>\n</minimax:tool_call>',
      [READ_A],
    ],
    [
      'Anthropic',
      '<function_calls>\n<invoke name="file_read">\n<parameter name="path">a.txt</parameter>\n</invoke>\n<invoke name="file_read">\n<parameter name="path">b.txt</parameter>\n</invoke>\n</function_calls>',
      [READ_A, READ_B],
    ],
    [
      'Cohere',
      '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "file_read", "parameters": {"path": "a.txt"}}]<|END_ACTION|>',
      [READ_A],
    ],
    ['Nemotron', `<TOOLCALL>[${JSON_A}]</TOOLCALL>`, [READ_A]],
    ['elements', '<tool_call><name>file_read</name><arguments>{"path": "a.txt"}</arguments></tool_call>', [READ_A]],
    [
      'one element for each argument',
      '<tool_call><tool_name>file_read</tool_name><path>a.txt</path></tool_call>',
      [READ_A],
    ],
    [
      'older Claude',
      '<function_calls>\n<invoke>\n<tool_name>file_read</tool_name>\n<parameters>\n<path>a.txt</path>\n</parameters>\n</invoke>\n</function_calls>',
      [READ_A],
    ],
    [
      'Cline',
      '<file_write>\n<path>a.txt</path>\n<content>\none\n<b>two</b>\n</content>\n</file_write>',
      [['file_write', { path: 'a.txt', content: 'one\n<b>two</b>' }]],
    ],
    ['a dict of Python', "<tool_call>{'name': 'file_read', 'arguments': {'path': 'a.txt'}}</tool_call>", [READ_A]],
    ['Qwen with the wrong tag', `<tools>\n${JSON_A}\n</tools>`, [READ_A]],
    ['LM Studio', `[TOOL_REQUEST]${JSON_A}[END_TOOL_REQUEST]`, [READ_A]],
    ['Apertus', '<|tools_prefix|>[{"file_read": {"path": "a.txt"}}]<|tools_suffix|>', [READ_A]],
    [
      'Solar',
      '<|tool_calls|><|tool_call:begin|>abc123<|tool_call:name|>file_read<|tool_call:args|>{"path": "a.txt"}<|tool_call:end|>',
      [READ_A],
    ],
    [
      'Step 3',
      '<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="file_read"><steptml:parameter name="path">a.txt</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>',
      [READ_A],
    ],
    [
      'LongCat',
      '<longcat_tool_call>file_read\n<longcat_arg_key>path</longcat_arg_key>\n<longcat_arg_value>a.txt</longcat_arg_value>\n</longcat_tool_call>',
      [READ_A],
    ],
    ['Functionary 2', '<|from|>assistant\n<|recipient|>file_read\n<|content|>{"path": "a.txt"}<|stop|>', [READ_A]],
    ['Functionary 3', '>>>file_read\n{"path": "a.txt"}', [READ_A]],
    ['FunctionGemma', '<start_function_call>call:file_read{path:<escape>a.txt<escape>}<end_function_call>', [READ_A]],
    [
      'Gemma 4',
      '<|tool_call>call:file_read{path:<|"|>a.txt<|"|>,lines:5,whole:true}<tool_call|>',
      [['file_read', { path: 'a.txt', lines: 5, whole: true }]],
    ],
    ['Gemma 3', '```tool_code\nprint(file_read(path="a.txt"))\n```', [READ_A]],
    ['Gemini', '<tool_code>\nprint(default_api.file_read(path="a.txt"))\n</tool_code>', [READ_A]],
    ['Llama 3.1 as Python', '<|python_tag|>file_read.call(path="a.txt")<|eom_id|>', [READ_A]],
    ['Python alone', 'file_read(path="a.txt")', [READ_A]],
    ['Python with an object', 'file_read({"path": "a.txt"})', [READ_A]],
    ['older GLM', 'file_read\n{"path": "a.txt"}', [READ_A]],
    [
      'Command R',
      `Action: \`\`\`json\n[{"tool_name": "file_read", "parameters": {"path": "a.txt"}}]\n\`\`\``,
      [READ_A],
    ],
    ['ReAct', 'Action: file_read\nAction Input: {"path": "a.txt"}', [READ_A]],
    ['older Qwen', '✿FUNCTION✿: file_read\n✿ARGS✿: {"path": "a.txt"}', [READ_A]],
    ['harmony without its tokens', 'assistantcommentary to=functions.file_read json{"path": "a.txt"}', [READ_A]],
    [
      'several at once of OpenAI',
      '{"tool_uses": [{"recipient_name": "functions.file_read", "parameters": {"path": "a.txt"}}]}',
      [READ_A],
    ],
    ['Llama 4 with tokens', '<|python_start|>[file_read(path="a.txt")]<|python_end|>', [READ_A]],
    [
      'Olmo 3',
      '<function_calls>\nfile_read(path="a.txt")\nfile_read(path="b.txt")\n</function_calls>',
      [READ_A, READ_B],
    ],
    [
      'Hunyuan',
      '<tool_calls><tool_call>file_read<tool_sep><arg_key>path</arg_key><arg_value>a.txt</arg_value></tool_call></tool_calls>',
      [READ_A],
    ],
    [
      'Cline for a server',
      '<use_mcp_tool>\n<server_name>x</server_name>\n<tool_name>file_read</tool_name>\n<arguments>\n{"path": "a.txt"}\n</arguments>\n</use_mcp_tool>',
      [READ_A],
    ],
    ['a tag with a hyphen', `<tool-call>\n${JSON_A}\n</tool-call>`, [READ_A]],
    ['a tag of one word', `<tool>\n${JSON_A}\n</tool>`, [READ_A]],
    ['an attribute', '<tool_call name="file_read" arguments=\'{"path": "a.txt"}\' />', [READ_A]],
    ['attributes', '<file_read path="a.txt" />', [READ_A]],
    ['actions', '<action>file_read</action>\n<action_input>{"path": "a.txt"}</action_input>', [READ_A]],
    ['Glaive', `<functioncall> {"name": "file_read", "arguments": '{"path": "a.txt"}'}`, [READ_A]],
    [
      'one brace too many',
      '<tool_call>\n{"name": "file_read", "arguments": {"path": "a.txt"}}}\n</tool_call>',
      [READ_A],
    ],
    [
      'made up results',
      `<tool_call>\n${JSON_A}\n</tool_call>\n<tool_response>\nAAA\n</tool_response>\nIt is AAA.`,
      [READ_A],
    ],
    ['ReAct as Python', 'Action: file_read(path="a.txt")\nObservation: AAA\nFinal Answer: AAA', [READ_A]],
    ['GLM without an end', '<tool_call>file_read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>', [READ_A]],
    [
      'GLM without a beginning',
      'file_read\n<arg_key>path</arg_key>\n<arg_value>a.txt</arg_value>\n</tool_call>',
      [READ_A],
    ],
    ['Llama 4', `<|python_start|>${JSON_A}<|python_end|><|eom|>`, [READ_A]],
    ['Pangu', `[unused16]hm[unused17][unused11][${JSON_A}][unused12]`, [READ_A]],
    ['a name before JSON in a fence', 'file_read\n```json\n{"path": "a.txt"}\n```', [READ_A]],
    [
      'Kimi without its first tags',
      'functions.file_read:0<|tool_call_argument_begin|>{"path": "a.txt"}<|tool_call_end|>',
      [READ_A],
    ],
    ['Kimi without tags', 'functions.file_read:0 {"path": "a.txt"}', [READ_A]],
    ['JSON deep inside', `{"thoughts": "hm", "tool": ${JSON_A}}`, [READ_A]],
    ['JSON-RPC', `{"jsonrpc": "2.0", "method": "tools/call", "params": ${JSON_A}, "id": 1}`, [READ_A]],
    ['ReAct with a text', 'Action: file_read\nAction Input: a.txt', [READ_A]],
    ['ReAct with a text in marks', 'Action: `file_read`\nAction Input: "a.txt"\nObservation: AAA', [READ_A]],
    ['ReAct in bold', '**Action:** file_read\n**Action Input:** a.txt\n**Observation**', [READ_A]],
    ['ReAct with a text in a fence', 'Action: file_read\nAction Input:\n```\na.txt\n```\nObservation', [READ_A]],
    ['ReAct without an input', 'Action: file_list\nAction Input: None', [['file_list', {}]]],
    ['ReAct with a text that fits no argument', 'Action: file_write\nAction Input: a.txt', [['file_write', 'a.txt']]],
    ['ReAct with an object in brackets', 'Action: file_read[{"path": "a.txt"}]', [READ_A]],
    ['ReAct with a text in brackets', 'Action: file_read[a.txt]\nObservation: AAA', [READ_A]],
    ['a name and attributes in brackets', '[file_read path="a.txt"]', [READ_A]],
    ['a name and attributes without marks', '[file_read path=a.txt]', [READ_A]],
    ['words before it', 'Tool call: file_read({"path": "a.txt"})', [READ_A]],
    ['words in brackets', '[Tool call: file_read({"path": "a.txt"})]', [READ_A]],
    ['fat words before it', '**Tool Call:** `file_read`\n```json\n{"path": "a.txt"}\n```', [READ_A]],
    ['harmony, the recipient alone', 'to=functions.file_read {"path": "a.txt"}', [READ_A]],
    ['JSON alone, flat', '{"tool": "file_read", "path": "a.txt"}', [READ_A]],
    ['JSON alone under the name', '{"file_read": {"path": "a.txt"}}', [READ_A]],
    [
      'JSON alone behind a thought',
      '{"thought": "hm", "action": "file_read", "action_input": {"path": "a.txt"}}',
      [READ_A],
    ],
    ['tags in a fence', `\`\`\`xml\n<tool_call>\n${JSON_A}\n</tool_call>\n\`\`\``, [READ_A]],
    ['Python in a fence', '```python\nfile_read(path="a.txt")\n```', [READ_A]],
    ['a function named by its tag', '<function name="file_read">{"path": "a.txt"}</function>', [READ_A]],
    ['elements in such a tag', '<function name="file_read"><param name="path">a.txt</param></function>', [READ_A]],
    ['a function with brackets', '<function=file_read({"path": "a.txt"})</function>', [READ_A]],
    ['brackets of one call', `[TOOL_CALL]${JSON_A}[/TOOL_CALL]`, [READ_A]],
    ['a namespace with a colon', JSON_A.replace('file_read', 'default_api:file_read'), [READ_A]],
    ['JSON alone', JSON_A, [READ_A]],
    ['JSON alone with "parameters"', '{"name": "file_read", "parameters": {"path": "a.txt"}}', [READ_A]],
    ['JSON in a fence', `\`\`\`json\n${JSON_A}\n\`\`\``, [READ_A]],
    [
      'JSON in OpenAI form',
      '{"tool_calls": [{"id": "x", "type": "function", "function": {"name": "file_read", "arguments": "{\\"path\\": \\"a.txt\\"}"}}]}',
      [READ_A],
    ],
    ['JSON in a list', `[${JSON_A}, ${JSON_B}]`, [READ_A, READ_B]],
  ];

  test.each(forms)('of %s', async (_, text, expected) => {
    for (const size of [1, 5, 1000]) {
      const heard = await hear(writes(text, 'stop', size));
      expect(callsOf(heard)).toEqual(expected);
      // no part of it is shown
      expect([heard.answer.text, heard.said]).toEqual(['', '']);
      expect(heard.answer.calls.every(({ id }) => id !== '')).toBe(true);
    }
  });

  test.each(
    forms.filter(
      ([, text]) =>
        !/^\[file|^(?:functions\.)?file_read|^functools|^```(?:json|xml|python)|channel|^<\|start|^\{"(?:tool|file|thoughts?|jsonrpc)/.test(
          text,
        ),
    ),
  )('of %s behind a sentence', async (_, text, expected) => {
    const heard = await hear(writes(`I will look.\n\n${text}`));
    expect([callsOf(heard), heard.answer.text, heard.said.trimEnd()]).toEqual([
      expected,
      'I will look.',
      'I will look.',
    ]);
  });

  test('in the thoughts of Kimi (S24)', async () => {
    const leak =
      'I look. <|tool_calls_section_begin|> <|tool_call_begin|> functions.file_read:0 <|tool_call_argument_begin|> {"path":"a.txt"} <|tool_call_end|> <|tool_calls_section_end|>';
    const heard = await hear(streamed(chunk({ reasoning_content: leak }), chunk({}, 'stop'), DONE));
    expect([callsOf(heard), heard.answer.text, heard.answer.reasoning]).toEqual([[READ_A], '', 'I look.']);
  });

  test('without what the model made up as its result (harmony)', async () => {
    const made = '<|start|>functions.file_read<|channel|>commentary<|message|>AAA<|end|>';
    const heard = await hear(writes(`${made}<|start|>assistant<|channel|>final<|message|>It says A.<|return|>`));
    expect([heard.answer.text, heard.said]).toEqual(['It says A.', 'It says A.']);
  });

  test('behind words to all (Functionary)', async () => {
    const heard = await hear(writes('>>>all\nI look.>>>file_read\n{"path": "a.txt"}'));
    expect([callsOf(heard), heard.answer.text, heard.said.trim()]).toEqual([[READ_A], 'I look.', 'I look.']);
  });

  test.each([
    'Action: ```json\n[{"tool_name": "directly_answer", "parameters": {}}]\n```',
    'Action: directly_answer\nAction Input: yes',
  ])('of a tool that was not offered is told to the model: %s', async (text) => {
    const heard = await hear(writes(text));
    expect([callsOf(heard).map(([name]) => name), heard.answer.text, heard.said]).toEqual([
      ['directly_answer'],
      '',
      '',
    ]);
  });

  test('behind a thought of ReAct', async () => {
    const heard = await hear(writes('Thought: I look.\nAction: file_read\nAction Input: a.txt\nObservation: AAA'));
    expect([callsOf(heard), heard.answer.text, heard.thought]).toEqual([[READ_A], '', 'I look.']);
  });

  test('in a thought that was never closed', async () => {
    const heard = await hear(writes(`<think>I look.\n<tool_call>\n${JSON_A}\n</tool_call>`));
    expect([callsOf(heard), heard.answer.text]).toEqual([[READ_A], '']);
  });

  test('and in a cut answer it comes back as cut', async () => {
    const { answer } = await hear(
      writes('<tool_call>\n{"name": "file_write", "arguments": {"path": "a.txt", "content": "ha', 'length'),
    );
    expect(answer).toMatchObject({ text: '', end: 'cut' });
  });
});

describe('a call that is written as text and cannot be read is told to the model', () => {
  test.each([
    ['<tool_call>\n{"name": "file_read", "arguments": {"path": "a.txt",}}\n</tool_call>', '{"path": "a.txt",}'],
    [
      '<tool_call>\n{"name": "file_write", "arguments": {"path": "a.txt", "content": "half\n</tool_call>',
      '{"path": "a.txt", "content": "half\n',
    ],
    ['<function=file_read>{"path": "a.txt"</function>', '{"path": "a.txt"'],
    [
      '<function=file_write>\n<parameter=path>\na.txt\n</parameter>\n<parameter=content>\nhalf',
      '<parameter=path>\na.txt\n</parameter>\n<parameter=content>\nhalf',
    ],
    ['{"name": "file_read", "arguments": {"path": a.txt}}', '{"path": a.txt}'],
    [
      '[TOOL_CALL]\n{tool => "file_read", args => {--path "a.txt"}}\n[/TOOL_CALL]',
      '{tool => "file_read", args => {--path "a.txt"}}',
    ],
    [
      '<tool_call>\n{"name"="file_read", "arguments": {"path": "a.txt"}}\n</tool_call>',
      '{"name"="file_read", "arguments": {"path": "a.txt"}}',
    ],
  ])('%j', async (text, args) => {
    const heard = await hear(writes(text));
    expect([heard.answer.calls.map((call) => call.arguments), heard.answer.text]).toEqual([[args], '']);
    expect(() => JSON.parse(args)).toThrow();
  });
});

describe('a whole answer that is a call and nothing else is one in a form that none knows', () => {
  test.each([
    `<|function_call|>${JSON_A}`,
    '<|function_call_start|>[file_read(path="a.txt")]<|function_call_end|>',
    '<tool_use name="file_read">{"path": "a.txt"}</tool_use>',
    '<execute_tool>\nfile_read(path="a.txt")\n</execute_tool>',
    '<tool_calls_begin><tool_call_begin>file_read<tool_sep>{"path": "a.txt"}<tool_call_end><tool_calls_end>',
    '<API>file_read(path="a.txt")</API>',
    '<ctrl42>call\nprint(default_api.file_read(path="a.txt"))<ctrl43>',
    'default_api.file_read(path="a.txt")',
    'file_read {"path": "a.txt"}',
    'file_read: {"path": "a.txt"}',
    '**file_read**\n```json\n{"path": "a.txt"}\n```',
    '`file_read(path="a.txt")`',
    '[[file_read(path="a.txt")]]',
    'Calling tool: file_read({"path": "a.txt"})',
    'Using tool: file_read\nArguments: {"path": "a.txt"}',
    'TOOL: file_read\nINPUT: {"path": "a.txt"}\nObservation: AAA',
    '```xml\n<file_read>\n<path>a.txt</path>\n</file_read>\n```',
    '{"function_name": "file_read", "function_args": {"path": "a.txt"}}',
    '{"toolName": "file_read", "toolInput": {"path": "a.txt"}}',
    '{"command": {"name": "file_read", "args": {"path": "a.txt"}}}',
    '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "file_read", "arguments": {"path": "a.txt"}}}',
    '{"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "file_read", "arguments": "{\\"path\\": \\"a.txt\\"}"}}]}',
    '{"functionCall": {"name": "file_read", "args": {"path": "a.txt"}}}',
  ])('%j', async (text) => {
    for (const size of [1, 5, 1000]) {
      const heard = await hear(writes(text, 'stop', size));
      expect([callsOf(heard), heard.answer.text]).toEqual([[READ_A], '']);
    }
  });

  test('and so is JSON in a fence behind the words that it is done now', async () => {
    const heard = await hear(writes(`I will read it.\n\n\`\`\`json\n${JSON_A}\n\`\`\``));
    expect([callsOf(heard), heard.answer.text]).toEqual([[READ_A], 'I will read it.']);
  });
});

test.each([
  ['<tool_call>\n{"name": "read_file", "arguments": {}}\n</tool_call>', 'read_file'],
  ['<function=other>{}</function>', 'other'],
  ['<tool_call>other\n<arg_key>a</arg_key>\n<arg_value>b</arg_value>\n</tool_call>', 'other'],
  ['[TOOL_CALLS]other[ARGS]{}', 'other'],
])('an answer that is nothing but a call of an unknown tool is told to the model: %j', async (text, name) => {
  const heard = await hear(writes(text));
  expect([heard.answer.calls.map((call) => call.name), heard.answer.text, heard.said]).toEqual([[name], '', '']);
});

describe('text that only looks like a call is text', () => {
  test.each([
    `Qwen writes this:\n\n\`\`\`\n<tool_call>\n${JSON_A}\n</tool_call>\n\`\`\`\n\nThen it waits.`,
    `The form is \`<tool_call>${JSON_A}</tool_call>\`.`,
    `The <tool_call> tag holds JSON. In a fence:\n\`\`\`\n<tool_call>\n${JSON_A}\n</tool_call>\n\`\`\``,
    'This calls a tool:\n<tool_call>\n{"name": "unknown_tool", "arguments": {}}\n</tool_call>',
    '<tools>\n{"name": "unknown_tool", "description": "Nothing."}\n</tools>',
    '{"file_read": 1, "file_write": 2}',
    '{"tool": "file_read", "since": 2024}',
    '{"name": "Bob", "age": 5}',
    '{"name": "file_read", "description": "Reads a file."}',
    '```json\n{"name": "fetch-durable", "type": "module"}\n```\nThat is the file.',
    `\`\`\`json\n${JSON_A}\n\`\`\`\nThis is an example of a call.`,
    '[1] is a note, [2] another',
    '[link](http://a.b) and [TOOL_CALLS] is a token of Mistral',
    '{ not json at all',
    'function=file_read',
    'Llama writes <function=other>{}</function>',
    '[0.5, 1]',
    `A call has this form:\n${JSON_A}\nThen it waits.`,
    `For example:\n\n\`\`\`json\n${JSON_A}\n\`\`\``,
    'file_read reads a file.',
    '{"type": "function", "function": {"name": "file_read", "parameters": {"type": "object", "properties": {}}}}',
    '{"steps": [{"tool": "file_read", "args": {"path": "a.txt"}}]}',
    `I will show the format:\n\n\`\`\`json\n${JSON_A}\n\`\`\``,
    'Note: file_read {"path": "a.txt"} is what I ran.',
    'I will write this:\n\n```json\n{"name": "fetch", "arguments": {"a": 1}}\n```',
    'The tool file_read(path="a.txt") reads it.',
    'Action: read the file\nand go on',
    '> a quote\n>>> print(1)',
    '```tool_code\nprint("a")\n```',
    '<file_read> is the name of a tool.',
    '{"a": 1}\n{"b": 2}',
  ])('%j', async (text) => {
    for (const size of [1, 4, 1000]) {
      const heard = await hear(writes(text, 'stop', size));
      expect([heard.answer.calls, heard.answer.text, heard.said]).toEqual([[], text, text]);
    }
  });

  test('where no tool was offered', async () => {
    const text = `<tool_call>\n${JSON_A}\n</tool_call>`;
    expect((await hear(writes(text), { tools: [] })).answer).toMatchObject({ text, calls: [] });
  });

  test('and beside a proper call it is left out', async () => {
    const proper = callChunk({ index: 0, id: 'x1', function: { name: 'file_read', arguments: '{"path":"a.txt"}' } });
    const heard = await hear(
      streamed(chunk({ content: `Look. <tool_call>${JSON_B}</tool_call>` }), proper, chunk({}, 'tool_calls'), DONE),
    );
    expect([callsOf(heard), heard.answer.text, heard.said]).toEqual([[READ_A], 'Look. ', 'Look. ']);
  });
});

describe('whatever bytes come', () => {
  const asked = (tools: ModelTool[] = TOOLS) => ({ model: 'm', tools, onDelta: () => {} });
  async function* inParts(bytes: Uint8Array, cuts: readonly number[]): AsyncGenerator<Uint8Array> {
    let from = 0;
    for (const cut of [...new Set(cuts.map((at) => at % (bytes.length + 1)))].sort((a, b) => a - b)) {
      yield bytes.subarray(from, cut);
      from = cut;
    }
    yield bytes.subarray(from);
  }
  async function read(bytes: Uint8Array, cuts: readonly number[]): Promise<unknown> {
    const answer = new Accumulator(asked(), { endpoint: 'e', promptChars: 1 });
    let end: 'closed' | 'done' = 'closed';
    try {
      for await (const frame of framesOf(inParts(bytes, cuts))) {
        if (frame === 'done') end = 'done';
        else if ('error' in frame) return 'error';
        else answer.add(frame.chunk);
      }
      return answer.finish(end);
    } catch (error) {
      if (error instanceof ModelError) return error.message;
      throw error;
    }
  }

  /** Words of which answers are made. */
  const word = fc.constantFrom(
    '<think>',
    '</think>',
    '<tool_call>',
    '</tool_call>',
    JSON_A,
    '`',
    '```',
    '\n',
    '\n\n',
    ' ',
    'word',
    '<',
    '[TOOL_CALLS]',
    '<|channel|>',
    'analysis',
    '<|message|>',
    '<|end|>',
    'é🙂',
    '{',
    '}',
    '<function=file_read>',
    '</function>',
    '<｜tool▁calls▁begin｜>',
    '<analysis>',
    '</analysis>',
    '<think a="b">',
    'Thought: ',
    '\nAction: file_read\nAction Input: ',
    '>>>all\n',
    '\nFinal Answer: ',
    '[Tool call: ',
    'file_read(path="a.txt")',
    '<tool_response>',
  );
  const text = fc.array(word, { maxLength: 12 }).map((words) => words.join(''));

  test('the pieces in which bytes arrive make no difference', () =>
    holds(
      fc.asyncProperty(text, fc.nat(8), fc.array(fc.nat(5_000)), async (said, size, cuts) => {
        const sent = pieces(said, size + 1).map((content) => chunk({ content }));
        const bytes = Buffer.from(
          [
            ...sent,
            event({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 2 } }),
            chunk({}, 'stop'),
            DONE,
          ].join(''),
        );
        expect(await read(bytes, cuts)).toEqual(await read(bytes, []));
      }),
      { runs: 300 },
    ));

  test('the pieces in which a text arrives make no difference', () =>
    holds(
      fc.property(text, fc.nat(8), (said, size) => {
        const heard = (parts: string[]) => {
          const answer = new Accumulator(asked(), { endpoint: 'e', promptChars: 1 });
          for (const content of parts) answer.add({ choices: [{ delta: { content } }] });
          const { text: told, reasoning, calls } = answer.finish('done');
          return { told, reasoning, calls };
        };
        if (said !== '') expect(heard(pieces(said, size + 1))).toEqual(heard([said]));
      }),
      { runs: 500 },
    ));

  test('an answer comes or a ModelError', () =>
    holds(
      fc.asyncProperty(
        fc.oneof(
          fc.uint8Array({ maxLength: 400 }),
          fc
            .array(
              fc.oneof(
                fc.json().map((json) => `data: ${json}\n\n`),
                fc.json(),
                fc.string(),
                text,
              ),
            )
            .map((all) => Buffer.from(all.join(''))),
        ),
        fc.array(fc.nat(400)),
        async (bytes, cuts) => {
          await read(bytes, cuts);
        },
      ),
      { runs: 500 },
    ));

  test('odd objects in place of chunks do not crash', () => {
    const odd = fc.oneof(
      fc.constant(null),
      fc.constant(0),
      fc.constant('x'),
      fc.constant([]),
      fc.constant({}),
      fc.constant([null]),
      fc.constant(['x']),
      fc.constant([{}]),
    );
    return holds(
      fc.asyncProperty(
        fc.record({
          choices: odd,
          usage: odd,
          model: odd,
          message: odd,
          x_groq: odd,
          delta: odd,
          content: odd,
          tool_calls: odd,
          function: odd,
          reasoning_details: odd,
          function_call: odd,
          finish_reason: odd,
        }),
        async ({
          delta,
          content,
          tool_calls,
          function: fn,
          reasoning_details,
          function_call,
          finish_reason,
          ...top
        }) => {
          const inner = {
            content,
            tool_calls: [tool_calls, { index: 0, function: fn }],
            reasoning_details,
            function_call,
          };
          await read(
            Buffer.from(
              event(top) +
                event({ choices: [{ delta }] }) +
                event({ choices: [{ delta: inner, finish_reason }] }) +
                DONE,
            ),
            [],
          );
        },
      ),
      { runs: 300 },
    );
  });
});
