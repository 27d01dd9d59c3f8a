"""Word lists of the synthetic chats. Lists named HELD_* are never trained on."""

import random

CAPITALS = dict(pair.split(":") for pair in (
    "France:Paris,Germany:Berlin,Italy:Rome,Spain:Madrid,Portugal:Lisbon,Japan:Tokyo,China:Beijing,India:New Delhi,"
    "Canada:Ottawa,Brazil:Brasilia,Egypt:Cairo,Kenya:Nairobi,Norway:Oslo,Sweden:Stockholm,Finland:Helsinki,"
    "Denmark:Copenhagen,Poland:Warsaw,Austria:Vienna,Greece:Athens,Turkey:Ankara,Russia:Moscow,Mexico:Mexico City,"
    "Peru:Lima,Chile:Santiago,Cuba:Havana,Ireland:Dublin,Iceland:Reykjavik,Hungary:Budapest,Ukraine:Kyiv,"
    "Australia:Canberra,Belgium:Brussels,Argentina:Buenos Aires,Thailand:Bangkok,Vietnam:Hanoi,Morocco:Rabat,"
    "Ghana:Accra,Nepal:Kathmandu,Iran:Tehran,Iraq:Baghdad,Croatia:Zagreb,Serbia:Belgrade,Romania:Bucharest,"
    "Bulgaria:Sofia,Colombia:Bogota,Ecuador:Quito,Uruguay:Montevideo,Estonia:Tallinn,Latvia:Riga").split(","))
OPPOSITES = dict(pair.split(":") for pair in (
    "hot:cold,big:small,fast:slow,up:down,left:right,day:night,black:white,open:closed,old:young,rich:poor,full:empty,"
    "hard:soft,high:low,light:dark,long:short,loud:quiet,wet:dry,near:far,early:late,first:last,clean:dirty,"
    "strong:weak,happy:sad,sweet:sour,thick:thin").split(","))
COLOURS_OF = dict(pair.split(":") for pair in (
    "the sky:blue,grass:green,snow:white,coal:black,a banana:yellow,a tomato:red,an orange:orange,blood:red,milk:white,"
    "a lemon:yellow,chocolate:brown,the night:black,a carrot:orange,a leaf:green,salt:white").split(","))
LEGS_OF = dict(pair.split(":") for pair in (
    "a dog:4,a cat:4,a spider:8,an ant:6,a bird:2,a horse:4,a snake:0,a bee:6,a chicken:2,a fish:0,a cow:4,"
    "a human:2").split(","))
CONTINENTS = {"Europe": "France Germany Italy Spain Norway Poland Greece Hungary Ireland Croatia".split(),
              "Asia": "Japan China India Thailand Vietnam Nepal Iran Iraq".split(),
              "Africa": "Egypt Kenya Morocco Ghana".split(),
              "South America": "Brazil Peru Chile Argentina Colombia Uruguay".split()}
COUNTS = {"days are in a week": "7", "months are in a year": "12", "hours are in a day": "24",
          "minutes are in an hour": "60", "seconds are in a minute": "60", "sides does a triangle have": "3",
          "sides does a square have": "4", "wheels does a car have": "4", "wheels does a bicycle have": "2",
          "fingers are on a hand": "5"}

NAMES = ("Anna Bob Carl Diana Eva Frank Gina Hugo Ivan Julia Karl Lena Mark Nina Otto Paul Rosa Sam Tina Uma Victor Wendy "
         "Alice Ben Chris Dora Emil Fiona George Helen Iris Jack Kate Leo Mia Noah Olga Peter Ruth Simon Vera Walter "
         "Zoe Adam Bella Daniel Elena Felix Grace Henry").split()
HELD_NAMES = "Amir Beatrix Conrad Delia Edgar Farah Gustav Hilda Igor Joanna Kofi Luisa Tomas Nadia Oscar Priya".split()
CITIES = [*CAPITALS.values(), *("London Boston Chicago Munich Milan Lyon Porto Osaka Seattle Denver Dallas Zurich Geneva "
                                "Hamburg Naples Seville Kyoto Mumbai Toronto Sydney Glasgow Bergen").split()]
HELD_CITIES = "Leeds Austin Turin Nantes Gdansk Bilbao Perth Omaha Basel Malmo Busan Quebec".split()
THINGS = ("phone book movie meal hotel service laptop song game coffee chair app train car shop pizza jacket lamp "
          "camera bag show course table watch garden").split()
HELD_THINGS = "restaurant tablet blanket hammer museum ladder kettle printer".split()
POSITIVE = ("great excellent amazing wonderful fantastic good perfect brilliant lovely superb nice beautiful delightful "
            "awesome pleasant").split()
NEGATIVE = ("terrible awful bad horrible disappointing poor broken useless boring ugly dreadful annoying nasty slow "
            "worthless").split()

TOPICS = {
    "sports": ["The team won the match", "She scored two goals", "The players trained for the final", "He ran a marathon",
               "The coach praised the goalkeeper", "They lost the tennis game", "The cyclist won the race",
               "The referee stopped the match"],
    "food": ["The soup needs more salt", "I baked bread with cheese", "We ate pasta with tomato sauce",
             "The cake is in the oven", "She cooked rice and fish", "He ordered a pizza with mushrooms",
             "The salad has olives and onions", "Mix the flour with butter and sugar"],
    "travel": ["Our flight to the island was late", "We booked a hotel near the beach", "The train crosses the mountains",
               "She packed her suitcase for the trip", "They visited the old castle", "The tourists took a bus to the city",
               "My passport is in the bag", "We drove along the coast on holiday"],
    "technology": ["The new phone has a better screen", "The server crashed after the update", "She writes software in an office",
                   "The robot can see with a camera", "My laptop needs more memory", "The website was hacked",
                   "They built a faster computer chip", "The app stores data in the cloud"],
    "weather": ["It will rain all day", "The sun is shining again", "A storm is coming from the west",
                "Snow fell during the night", "It is cold and windy", "The fog was thick this morning",
                "Expect thunder and hail", "The temperature rises to thirty degrees"],
    "music": ["The band played three songs", "She sings in a choir", "He practises the piano every day",
              "The orchestra tuned the violins", "Their new album has a slow rhythm", "The drummer lost his sticks",
              "I heard the guitar on the radio", "The singer forgot the melody"]}
# A subject and what it does, any with any.
TOPIC_PARTS = {
    "sports": ("The team,The players,The coach,The goalkeeper,The referee,The champion,Our striker,The tennis player,The runner,She,He",
               "won the match,lost the final,scored two goals,trained for the race,stopped the game,won the tennis game,missed the goal,"
               "ran a marathon,played football,jumped over the bar,won a medal,scored in the final"),
    "food": ("I,We,She,He,My mother,The cook,The baker,Our guests",
             "baked bread with cheese,cooked soup with beans,ate pasta with tomato sauce,cooked rice with onions,ordered a pizza with olives,"
             "made a salad with cheese,mixed flour and butter,fried fish with salt,baked a sweet cake,drank juice with the meal,cut the onions and olives"),
    "travel": ("We,She,He,They,The tourists,My parents,Our group,I",
               "booked a flight to the island,took a bus to the beach,visited the old castle,drove along the coast,packed a suitcase for the trip,"
               "missed the train to the mountains,booked a hotel near the coast,took a ship to the harbour,lost the passport on holiday,"
               "flew to the old city,took a train to the beach"),
    "technology": ("The computer,The server,My phone,The laptop,The app,The robot,Our website,The chip,The software",
                   "crashed after the update,needs more memory,has a better screen,stores data on a disk,was hacked,has a new camera,"
                   "runs in the cloud,got a software update,is faster than the old one,needs a new battery,sends data to the cloud,lost its data"),
    "weather": ("It,The wind,The storm,The rain,The snow,The sun,The fog,Thunder and hail,The sky",
                "will come from the west,was strong this morning,is coming again,will stop during the night,came in the afternoon,"
                "is gone today,brings cold air,lasts all day,is shining and windy,is cold and rainy,is expected tomorrow"),
    "music": ("The band,The singer,The choir,The orchestra,The drummer,The pianist,She,He",
              "played the guitar,sings a slow song,played three songs,sings the melody,practises the piano,plays the drums in a band,"
              "recorded a new album,tuned the violin,wrote a song,played on the radio,sang in a choir,forgot the rhythm")}
HELD_TOPICS = {
    "sports": ["The goalkeeper stopped the final goal", "She won the tennis match"],
    "food": ["I cooked soup with onions", "The bread has cheese and olives"],
    "travel": ["She booked a flight to the coast", "We took a train to the old castle"],
    "technology": ["The computer needs an update", "My phone stores data in the cloud"],
    "weather": ["Rain and thunder are coming", "It is windy and the sun is gone"],
    "music": ["The choir sings a slow song", "He played the guitar in a band"]}

_PARTS = {
    "English": (["The dog", "My sister", "The child", "Our friend", "The old man", "The woman"],
                ["sees", "likes", "buys", "finds", "wants", "brings"],
                ["the house", "a red apple", "the book", "some water", "a small bird", "the garden"]),
    "French": (["Le chien", "Ma soeur", "L'enfant", "Notre ami", "Le vieil homme", "La femme"],
               ["voit", "aime", "achete", "trouve", "veut", "apporte"],
               ["la maison", "une pomme rouge", "le livre", "de l'eau", "un petit oiseau", "le jardin"]),
    "German": (["Der Hund", "Meine Schwester", "Das Kind", "Unser Freund", "Der alte Mann", "Die Frau"],
               ["sieht", "mag", "kauft", "findet", "will", "bringt"],
               ["das Haus", "einen roten Apfel", "das Buch", "etwas Wasser", "einen kleinen Vogel", "den Garten"]),
    "Spanish": (["El perro", "Mi hermana", "El nino", "Nuestro amigo", "El hombre viejo", "La mujer"],
                ["ve", "quiere", "compra", "encuentra", "busca", "trae"],
                ["la casa", "una manzana roja", "el libro", "un poco de agua", "un pajaro", "el jardin"]),
    "Italian": (["Il cane", "Mia sorella", "Il bambino", "Il nostro amico", "Il vecchio", "La donna"],
                ["vede", "ama", "compra", "trova", "vuole", "porta"],
                ["la casa", "una mela rossa", "il libro", "un po' d'acqua", "un piccolo uccello", "il giardino"])}


def sentence_in(language, held):
    """A sentence; which (subject, verb, object) triples are held out depends on nothing but the triple."""
    subjects, verbs, objects = _PARTS[language]
    while True:
        s, v, o = (random.randrange(len(part)) for part in (subjects, verbs, objects))
        if ((s * 7 + v * 3 + o) % 5 == 0) == held:
            return f"{subjects[s]} {verbs[v]} {objects[o]}."


_ONSETS = "b c d f g h j k l m n p r s t v w z".split() * 3 + "br ch cl cr dr fl fr gl gr kl kn kr ph pl pr qu sch sh sk sl sm sn sp st str th tr tw wh y".split()
_NUCLEI = "a e i o u".split() * 4 + "ai au ea ee ei ia ie io oa oo ou ue y".split()
_CODAS = [""] * 12 + "b ck d ff g k l ll m n nd ng nn nt p r rd rk rn rt s sk ss st t tch th x z".split()


# Every word of the lists above that may be trained on: whole and in pieces they are the tokens that copying has to know.
_LEXICON = sorted({word for text in [*CAPITALS, *CAPITALS.values(), *OPPOSITES, *OPPOSITES.values(), *COLOURS_OF, *COUNTS, *NAMES, *CITIES,
                                     *THINGS, *POSITIVE, *NEGATIVE, *(s for sentences in TOPICS.values() for s in sentences),
                                     *(part.replace(",", " ") for parts in TOPIC_PARTS.values() for part in parts)]
                   for word in text.split()})


def made_up():
    """A word nobody has seen: copying is the only way to get it right."""
    while True:
        word = random.choice([_syllables, _clusters, _clusters, _pieces, _letters, _tokens, _tokens, _tokens])()
        if word.capitalize() not in HELD_NAMES + HELD_CITIES and word.lower() not in HELD_THINGS:
            return word.capitalize() if random.random() < 0.8 else word


def _syllables():
    return "".join(random.choice("bcdfghjklmnprstvwz") + random.choice("aeiou") for _ in range(random.randint(1, 3)))


def _clusters():
    word = random.choice(["", "", "a", "e", "i", "o", "u"]) if random.random() < 0.4 else ""
    word += "".join(random.choice(_ONSETS) + random.choice(_NUCLEI) for _ in range(random.randint(1, 3))) + random.choice(_CODAS)
    if random.random() < 0.3:
        word += random.choice(["er", "ing", "et", "a", "ia", "on", "us", "in", "ine", "ette", "land", "ton", "ville"])
    return word


def _pieces():
    """Pieces of words there are, joined anew; now and then a whole one."""
    if random.random() < 0.2:
        return random.choice(_LEXICON).lower()
    word = ""
    for _ in range(random.randint(1, 3)):
        whole = random.choice(_LEXICON).lower()
        start = random.randint(0, max(0, len(whole) - 2))
        word += whole[start : start + random.randint(2, 5)]
    return word


# The words among the tokens of a vocabulary, once there is one: each has to be copied now and then, to be known.
TOKENS = []


def _tokens():
    if not TOKENS:
        return _pieces()
    first, *rest = random.choices(TOKENS, k=random.choice([1, 2, 2, 3]))
    return first + "".join(rest).lower()


def _letters():
    return "".join(random.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(random.randint(2, 6)))


def name(held):
    if held:
        return random.choice(HELD_NAMES) if random.random() < 0.6 else made_up().capitalize()
    return random.choice(NAMES) if random.random() < 0.3 else made_up().capitalize()


def city(held):
    if held:
        return random.choice(HELD_CITIES) if random.random() < 0.6 else made_up().capitalize()
    return random.choice(CITIES) if random.random() < 0.3 else made_up().capitalize()


def thing(held):
    if held:
        return random.choice(HELD_THINGS)
    thing = random.choice(THINGS) if random.random() < 0.4 else made_up().lower()
    return random.choice(THINGS) if thing in POSITIVE + NEGATIVE else thing


def topical(label, held):
    """A sentence about a topic."""
    if held:
        return random.choice(HELD_TOPICS[label])
    if random.random() < 0.4:
        return random.choice(TOPICS[label])
    subjects, predicates = TOPIC_PARTS[label]
    while True:
        sentence = f"{random.choice(subjects.split(','))} {random.choice(predicates.split(','))}"
        if sentence not in HELD_TOPICS[label]:
            return sentence
