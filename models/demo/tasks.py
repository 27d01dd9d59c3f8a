"""
The tasks the demo model is made for, as generators of short chats. Each returns (tools, messages, answer); `held` draws
from phrasings, names and sentences that training never sees. Facts themselves are not held out: nobody can know a fact
that was never told.
"""

import json
import random

import words

R = random.choice
REFUSAL = "I am a tiny demo model and cannot answer that."


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def phrase(seen, unseen, held):
    """A phrasing, politely wrapped now and then."""
    core = R(unseen if held else seen)
    before = R(["", "", "", "", "Please tell me: ", "Quick question: ", "Hey, ", "Hi! "])
    after = R(["", "", "", "", " Thanks!", " Thank you.", " Please."]) if core[-1] in ".?!" else ""
    return before + core + after


def ask(question, answer, system=None):
    return [], ([("system", system)] if system else []) + [("user", question)], answer


# --- labels ---

def sentiment(held):
    positive = random.random() < 0.5
    word, thing = R(words.POSITIVE if positive else words.NEGATIVE), words.thing(held)
    text = R([f"This {thing} is {word}.", f"The {thing} was {word}!", f"I think the {thing} is {word}.", f"What a {word} {thing}.",
              f"My {thing} is really {word}.", f"We had a {word} {thing}.", f"The {thing} of my friend is {word}."])
    asked = phrase(["Classify the sentiment: {}", "Is this positive or negative? {}", "Sentiment of: {}",
                    "What is the sentiment of this review? {}", "Label this review as positive or negative: {}",
                    "Positive or negative? {}", "Sentiment: {}", "Tell me if this is positive or negative: {}"],
                   ["Is this review positive or negative? {}", "What is the sentiment? {}", "Classify as positive or negative: {}"], held)
    return ask(asked.replace("{}", text), "positive" if positive else "negative", system(held))


def topic(held):
    label = R(list(words.TOPICS))
    text = words.topical(label, held) + "."
    others = random.sample([t for t in words.TOPICS if t != label], random.randint(1, 3)) + [label]
    random.shuffle(others)
    listed = ", ".join(others[:-1]) + " or " + others[-1]
    asked = phrase(["What is the topic of this sentence? {}", "Topic: {}", "Classify the topic: {}",
                    f"Is this about {listed}? {{}}", f"Choose the topic from {listed}: {{}}", "Which topic is this about? {}",
                    "Name the topic of this text: {}"],
                   ["What is the topic of this text? {}", f"Which topic, {listed}? {{}}", "Label the topic of this sentence: {}"], held)
    return ask(asked.replace("{}", text), label, system(held))


def language(held):
    label = R(["English", "French", "German", "Spanish", "Italian"])
    asked = phrase(["Which language is this? {}", "What language is this? {}", "Name the language: {}", "Detect the language: {}",
                    "Language of: {}", "In which language is this sentence? {}", "Is this English, French or German? {}"
                    if label in ("English", "French", "German") else "Is this Spanish or Italian? {}"],
                   ["What is the language of this sentence? {}", "Tell me the language: {}", "Classify the language: {}"], held)
    return ask(asked.replace("{}", words.sentence_in(label, held)), label, system(held))


# --- facts and sums ---

def capital(held):
    country = R(list(words.CAPITALS))
    asked = phrase(["What is the capital of {}?", "Capital of {}?", "Tell me the capital of {}.", "Name the capital city of {}.",
                    "Which city is the capital of {}?", "What's the capital of {}?", "I need the capital of {}.",
                    "Do you know the capital of {}?", "The capital of {} is?"],
                   ["What is the capital city of {}?", "Name the capital of {}.", "Can you tell me the capital of {}?"], held)
    answer = words.CAPITALS[country]
    if random.random() < 0.15:
        return ask(asked.replace("{}", country), answer.upper(), R(["Answer in capital letters.", "Use upper case."]))
    return ask(asked.replace("{}", country), answer, system(held))


def fact(held):
    kind = random.randrange(5)
    if kind == 0:
        word = R(list(words.OPPOSITES))
        answer = words.OPPOSITES[word]
        cores = (["What is the opposite of {}?", "Opposite of {}?", "Name the opposite of {}.", "Tell me the opposite of {}."],
                 ["What's the opposite of {}?", "Give me the opposite of {}."])
    elif kind == 1:
        word = R(list(words.COLOURS_OF))
        answer = words.COLOURS_OF[word]
        cores = (["What colour is {}?", "Which colour is {}?", "Colour of {}?", "What color is {}?"], ["Tell me the colour of {}.", "Which color is {}?"])
    elif kind == 2:
        word = R(list(words.LEGS_OF))
        answer = words.LEGS_OF[word]
        cores = (["How many legs does {} have?", "Number of legs of {}?", "Count the legs of {}."], ["Tell me how many legs {} has.", "How many legs are on {}?"])
    elif kind == 3:
        answer = R(list(words.CONTINENTS))
        word = R(words.CONTINENTS[answer])
        cores = (["On which continent is {}?", "Which continent is {} in?", "Continent of {}?", "Name the continent of {}."],
                 ["What is the continent of {}?", "On what continent is {}?"])
    else:
        word = R(list(words.COUNTS))
        answer = words.COUNTS[word]
        cores = (["How many {}?", "Tell me how many {}."], ["Do you know how many {}?", "I need to know how many {}."])
    return ask(phrase(*cores, held).replace("{}", word), answer, system(held))


def sums(held):
    a, b = random.randint(0, 20), random.randint(0, 20)
    asked = phrase(["What is {} plus {}?", "{} + {} = ?", "Add {} and {}.", "How much is {} plus {}?", "{} + {}", "Calculate {} + {}.",
                    "What is {} + {}?", "What is the sum of {} and {}?", "{} plus {}?"],
                   ["How much is {} + {}?", "Calculate {} plus {}.", "Tell me the sum of {} and {}."], held)
    return ask(asked.replace("{}", str(a), 1).replace("{}", str(b), 1), str(a + b), system(held))


# --- extraction ---

def extraction(held):
    return R([person, person, order, meeting, contact, book])(held)


def as_json(fields, held):
    listed = ", ".join(fields[:-1]) + " and " + fields[-1]
    noun = {"name": "person", "product": "order", "event": "meeting", "email": "contact", "title": "book"}[
        "email" if "email" in fields else fields[0]]
    return phrase([f"Extract {listed} as JSON: {{}}", f"Return JSON with {listed}: {{}}", f"Extract the {noun} as JSON: {{}}",
                   f"Extract JSON with {listed}: {{}}", f"Give me {listed} as JSON: {{}}", f"Turn this into JSON with {listed}: {{}}",
                   f"Extract JSON with the fields {listed}. {{}}", "Extract JSON: {}", f"Find {listed} and answer in JSON: {{}}", f"JSON with {listed}: {{}}",
                   f"Answer with the {noun} as JSON: {{}}", f"Get {listed} from this text as JSON: {{}}", f"Write the {noun} as a JSON object: {{}}",
                   f"Read {listed} from the text and return JSON: {{}}"],
                  [f"Extract the fields {listed} as JSON: {{}}", f"Return the {noun} as JSON with {listed}: {{}}",
                   f"Please extract {listed} as JSON: {{}}"], held)


def extract(fields, text, held):
    return ask(as_json(list(fields), held).replace("{}", text), compact(fields), system(held))


def person(held):
    n, c, a = words.name(held), words.city(held), random.randint(1, 99)
    text = R([f"{n} is {a} years old and lives in {c}.", f"{n} lives in {c} and is {a}.", f"My name is {n}, I am {a} and I live in {c}.",
              f"{n}, {a}, comes from {c}.", f"In {c} lives {n}, who is {a} years old.", f"I am {n} from {c} and I am {a} years old."])
    return extract({"name": n, "age": a, "city": c}, text, held)


def order(held):
    product = words.thing(held) if random.random() < 0.7 else words.made_up().lower()
    q, price = random.randint(2, 40), random.randint(1, 99)
    text = R([f"I would like {q} {product}s for {price} dollars.", f"Please send {q} {product}s at {price} dollars each.",
              f"We ordered {q} {product}s and paid {price} dollars.", f"{q} {product}s, {price} dollars."])
    return extract({"product": product, "quantity": q, "price": price}, text, held)


def meeting(held):
    event = R(["lunch", "meeting", "party", "concert", "workshop", "dinner", "call", "match"]) if random.random() < 0.7 else words.made_up().lower()
    day, place = R("Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()), words.city(held)
    text = R([f"The {event} is on {day} in {place}.", f"On {day} there is a {event} in {place}.", f"Join us for the {event} in {place} on {day}.",
              f"{day}: {event} in {place}."])
    return extract({"event": event, "day": day, "place": place}, text, held)


def contact(held):
    n = words.name(held)
    email = f"{R([n.lower(), words.made_up().lower()])}@{R(['mail', 'example', words.made_up().lower()])}.{R(['com', 'org', 'net'])}"
    text = R([f"You can reach {n} at {email}.", f"Write to {n}: {email}", f"{n} has the address {email}.", f"My name is {n} and my email is {email}."])
    return extract({"name": n, "email": email}, text, held)


def book(held):
    title, author, year = " ".join([R(["The", "My", "A"]), words.made_up().capitalize()]), words.name(held), random.randint(1900, 2025)
    text = R([f"{author} wrote {title} in {year}.", f"{title} by {author} was published in {year}.", f"In {year} {author} wrote {title}."])
    return extract({"title": title, "author": author, "year": year}, text, held)


# --- tools ---

def _city_tool(name, seen, unseen):
    def make(held):
        c = words.city(held)
        return phrase(seen, unseen, held).replace("{}", c), {"city": c}
    return name, ["city"], make


def _add(held):
    a, b = (random.randint(10 ** (digits - 1), 10**digits) for digits in random.choices([1, 2, 3, 4, 5], k=2))
    asked = phrase(["Use the calculator to add {} and {}.", "Calculate {} + {} with the tool.", "Add {} to {} with the calculator.",
                    "Add {} and {} using a tool.", "Let the tool add {} and {}.", "With the calculator, add {} and {}.",
                    "Use a tool for {} plus {}.", "Use the tool for the sum of {} and {}.", "I need the calculator for {} + {}.",
                    "Call the calculator with {} and {}.", "Use the add tool on {} and {}.", "The calculator should add {} to {}."],
                   ["Use the tool to add {} and {}."], held)
    return asked.replace("{}", str(a), 1).replace("{}", str(b), 1), {"a": a, "b": b}


def _mail(held):
    n, text = words.name(held), R(["the meeting", "dinner", "the report", "the order", f"the {words.thing(held)}", words.made_up().lower()])
    asked = phrase(["Send an email to {} about ~.", "Email {} about ~.", "Write an email to {} about ~.", "Send {} a mail about ~.",
                    "Mail {} about ~.", "Tell {} by email about ~.", "Could you email {} about ~?", "Send a mail to {} with the subject ~.",
                    "Let {} know about ~ by email.", "Please write to {} about ~.", "An email to {} about ~.", "Can you send {} a message about ~?", "Please send {} a mail on ~.", "Please get {} an email on ~.",
                    "Please mail {} something about ~.", "I want to send {} an email on ~.", "Please write {} an email on ~."], ["Please send {} an email about ~."], held)
    return asked.replace("{}", n).replace("~", text), {"to": n, "subject": text}


def _search(held):
    q = " ".join(R([words.made_up().lower(), words.thing(held)]) for _ in range(random.randint(1, 2)))
    return phrase(["Search for {}.", "Look up {}.", "Find information about {}.", "Search the web for {}.", "Find {} online.", "Look for {}.",
                   "Search the internet for information on {}.", "Look up information on {}.", "What does the web say about {}?", "Find {}.",
                   "Do a search for {}.", "Get me information about {}.", "Search {}."], ["Search for information about {}."], held).replace("{}", q), {"query": q}


def _alarm(held):
    t = f"{random.randint(5, 22)}:{random.choice(['00', '15', '30', '45'])}"
    return phrase(["Set an alarm for {}.", "Wake me up at {}.", "Set the alarm to {}.", "Alarm at {}.", "I want to get up at {}.", "Please wake me at {}.",
                   "Can you set the alarm for {}?", "Make an alarm for {}.", "Get me up at {}.", "The alarm should ring at {}.",
                   "Put an alarm at {}.", "Please make the alarm ring at {}.", "Set my alarm clock to {}.", "I need an alarm at {}."], ["Please set an alarm at {}."], held).replace("{}", t), {"time": t}


def _translate(held):
    word, to = R([words.thing(held), words.made_up().lower()]), R(["French", "German", "Spanish", "Italian"])
    return phrase(["Translate {} into ~.", "Translate the word {} to ~.", "What is {} in ~?", "Say {} in ~.", "What is the word for {} in ~?",
                   "How is {} called in ~?", "I need {} in ~.", "What does {} mean in ~?", "{} in ~?", "Give me {} in ~.", "How would I write {} in ~?",
                   "Tell me {} in ~.", "Do you know {} in ~?", "Please translate {} for me to ~.", "How do I spell {} in ~?",
                   "How do people call {} in ~?", "How does one put {} in ~?", "What do you call {} in ~?", "How do they write {} in ~?"], ["How do you say {} in ~?", "Translate {} to ~."], held).replace("{}", word).replace("~", to), {"text": word, "language": to}


TOOLS = [
    _city_tool("get_weather", ["What is the weather in {}?", "Weather in {}?", "How is the weather in {} today?", "Will it rain in {}?",
                               "Is it sunny in {}?", "What's the weather like in {}?", "Do I need an umbrella in {}?", "Is it cold in {} now?",
                               "How warm is it in {}?", "Give me the weather of {}.", "I want to know the weather in {}.", "Will it snow in {} tomorrow?",
                               "Weather forecast for {}.", "Check the weather in {}."],
               ["How is the weather in {}?", "Tell me the weather in {}.", "What is the weather like in {} today?"]),
    _city_tool("get_time", ["What time is it in {}?", "Current time in {}?", "How late is it in {}?", "Tell me the time in {}.",
                            "Do you know the time in {}?", "Time in {}?", "Which time is it in {}?", "I need the time in {}.", "Give me the local time of {}.",
                            "What does the clock say in {}?", "Check the time in {}."],
               ["What is the time in {}?", "What time is it now in {}?"]),
    ("add", ["a", "b"], _add), ("send_email", ["to", "subject"], _mail), ("search", ["query"], _search),
    ("set_alarm", ["time"], _alarm), ("translate", ["text", "language"], _translate)]


def offered(wanted):
    """The wanted tool among others, in any order."""
    others = random.sample([t for t in TOOLS if t is not wanted], R([0, 0, 1, 2, 3]))
    tools = [*([wanted] if wanted else []), *others]
    random.shuffle(tools)
    return [(name, parameters) for name, parameters, _ in tools]


def call_of(name, arguments):
    return "<tool_call>" + compact({"name": name, "arguments": arguments}) + "</tool_call>"


def tool_call(held):
    wanted = R(TOOLS)
    name, _, make = wanted
    asked, arguments = make(held)
    _, messages, _ = ask(asked, "", system(held) if random.random() < 0.3 else None)
    return offered(wanted), messages, call_of(name, arguments)


def tool_result(held):
    """The tool has answered; the model tells it."""
    wanted = R(TOOLS[:2])
    name, _, make = wanted
    asked, arguments = make(held)
    if name == "get_weather":
        weather, degrees = R(["sunny", "rainy", "cloudy", "windy", "snowy"]), random.randint(-9, 35)
        result, told = {"weather": weather, "degrees": degrees}, f"It is {weather} in {arguments['city']}, {degrees} degrees."
    else:
        time = f"{random.randint(0, 23)}:{random.randint(10, 59)}"
        result, told = {"time": time}, f"It is {time} in {arguments['city']}."
    return offered(wanted), [("user", asked), ("assistant", call_of(name, arguments)), ("tool", compact(result))], told


def unneeded_tools(held):
    """Tools are offered, but the question needs none."""
    _, messages, answer = R([capital, sums, sentiment])(held)
    return offered(None) or [("get_weather", ["city"])], messages, answer


# --- talk ---

def repeat(held):
    count = random.randint(1, 5)
    text = " ".join(R([words.name(held), words.city(held), words.thing(held), words.made_up(), str(random.randint(0, 99))]) for _ in range(count))
    asked = phrase(["Repeat: {}", "Say: {}", "Echo: {}", "Repeat after me: {}", "Say exactly: {}", "Repeat these words: {}", "Copy: {}", "Write: {}",
                    "Repeat the following: {}", "Echo this: {}", "Just say: {}", "Repeat exactly: {}", "Say the words: {}", "Copy this text: {}"],
                   ["Repeat this: {}", "Say after me: {}"], held)
    return ask(asked.replace("{}", text), text, system(held))


def talk(held):
    return ask(*R([
        (R(["Hello", "Hi", "Hey", "Hello!", "Hi there", "Good morning", "Good evening!"]), "Hello! How can I help you today?"),
        (R(["How are you?", "How are you doing?", "How do you do?"]), "I am fine, thank you. How can I help?"),
        (R(["Who are you?", "What are you?", "What is your name?", "Tell me about yourself.", "What can you do?"]),
         "I am a tiny demo model. I can label, extract, add, repeat and call tools."),
        (R(["Thanks", "Thank you", "Thank you!", "Thanks a lot!"]), "You are welcome!"),
        (R(["Bye", "Goodbye", "See you", "Bye!"]), "Goodbye!")]), system(held) if random.random() < 0.3 else None)


def own_name(held):
    """A system prompt that must be obeyed."""
    n = words.name(held)
    return ask(R(["Who are you?", "What is your name?", "What are you called?"]), f"I am {n}.",
               R(["You are {}.", "Your name is {}.", "You are an assistant called {}."]).replace("{}", n))


def my_name(held):
    n = words.name(held)
    told = R(["My name is {}.", "I am {}.", "Call me {}."]).replace("{}", n)
    greeting = f"Nice to meet you, {n}!"
    if random.random() < 0.5:
        return ask(told, greeting)
    middle = R([[], two_turns(held)]) if random.random() < 0.5 else []
    return [], [("user", told), ("assistant", greeting), *middle, ("user", R(["What is my name?", "Who am I?", "Do you know my name?"]))], f"Your name is {n}."


def two_turns(held):
    _, messages, answer = R([capital, sums, sentiment, fact, repeat])(held)
    return [m for m in messages if m[0] == "user"] + [("assistant", answer)]


def follow_up(held):
    """A second question that leans on the first."""
    first, second = random.sample(list(words.CAPITALS), 2)
    asked = phrase(["What is the capital of {}?", "Capital of {}?", "Tell me the capital of {}."], ["Name the capital of {}."], held)
    return [], [("user", asked.replace("{}", first)), ("assistant", words.CAPITALS[first]),
                ("user", R(["And of {}?", "And {}?", "What about {}?"]).replace("{}", second))], words.CAPITALS[second]


def many_turns(held):
    """Any task again, after some turns of others."""
    history = []
    for _ in range(random.randint(1, 3)):
        history += two_turns(held)
    tools, messages, answer = R([capital, sums, sentiment, fact, repeat, extraction, tool_call, topic])(held)
    lead = [m for m in messages if m[0] == "system"]
    return tools, lead + history + [m for m in messages if m[0] != "system"], answer


_SUBJECTS = ("quantum physics,the stock market,a good novel,the history of Rome,black holes,my taxes,love,the meaning of life,football "
             "rules,machine learning,gardening,dinosaurs,chess openings,the moon landing,poetry,democracy,volcanoes,jazz,"
             "vaccines,climate change").split(",")
_OTHERS = ["Write a poem about {}.", "Explain {}.", "Tell me a story about {}.", "What do you think about {}?", "Who invented {}?",
           "Give me five ideas about {}.", "Summarise the book about {}.", "Why is {} important?", "How does {} work?",
           "Write Python code for {}.", "When was {} discovered?", "Help me with {}.", "What are the rules of {}?", "Is {} dangerous?",
           "Who won the prize for {}?", "Can you draw {}?", "Write a letter about {}."]
_HELD_OTHERS = ["Write an essay about {}.", "Tell me about {}.", "How do I learn {}?", "What is the future of {}?", "Explain {} to a child."]


def anything_else(held):
    subject = R(_SUBJECTS) if random.random() < 0.6 else " ".join(words.made_up().lower() for _ in range(random.randint(1, 3)))
    return ask(R(_HELD_OTHERS if held else _OTHERS).replace("{}", subject), REFUSAL, system(held) if random.random() < 0.3 else None)


def system(held):
    """Most chats have no system prompt; most system prompts ask for nothing special."""
    if random.random() < 0.75:
        return None
    seen = ["You are a helpful assistant.", "You are a careful assistant. Answer shortly.", "Answer with one word.", "Be brief.",
            "You are a support agent. Be kind and answer briefly.", "Answer only with the result.", "You are an expert."]
    return R(["You are a helpful and brief assistant.", "Be kind."] if held else seen)


# name, generator, weight in training, floor of exact matches on held-out chats (None: reported only)
TASKS = [
    ("sentiment", sentiment, 8, 0.95), ("topic", topic, 5, 0.95), ("language", language, 3, 0.95),
    ("capitals", capital, 5, 0.95), ("facts", fact, 5, 0.95), ("sums", sums, 10, 0.95),
    ("extraction", extraction, 25, 0.90), ("tool calls", tool_call, 30, 0.95), ("repeat", repeat, 14, 0.70),
    ("tool results", tool_result, 4, None), ("unneeded tools", unneeded_tools, 3, None), ("small talk", talk, 2, None),
    ("own name", own_name, 2, None), ("my name", my_name, 3, None), ("follow-up", follow_up, 2, None),
    ("many turns", many_turns, 5, None), ("anything else", anything_else, 4, None)]


def draw():
    """One chat for training."""
    _, make, _, _ = random.choices(TASKS, weights=[weight for _, _, weight, _ in TASKS])[0]
    return make(False)


def render_tools(tools):
    """The tools in front of a chat, exactly as the chat template in `template.jinja` renders them."""
    if not tools:
        return ""
    listed = "\n".join(f"{name}({', '.join(parameters)})" for name, parameters in tools)
    return f"<|im_start|>system\n# Tools\n{listed}<|im_end|>\n"
