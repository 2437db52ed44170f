#!/usr/bin/env python3
"""A grammar of small children's tales, and a storyteller that tells them.

    python tales.py 5 [SEED]    # tells five tales

Every word was written for this project; train_linnet_tales.py trains a model on what is told here.

How the grammar is written
--------------------------
A plot is a block of text.  Blank lines separate its steps, "---" begins a new
paragraph, and the lines of one step are alternatives of which one is told; the line
"-" tells nothing, and a step that begins with "? " is often left out.  Inside a line

    [this|that]   chooses one of the alternatives (they may be nested),
    {key}         is replaced from the cast of the tale: {H} and {K} are the names of
                  the hero and the helper; {he} {him} {his} {himself} and {khe} {khim}
                  {khis} their pronouns; {kind} and {kkind} what they are,
    a(n)          becomes "a" or "an" to suit the word that follows.

A key that begins with a capital letter gives its text with a capital letter.
"""

import random
import re
import sys

# --------------------------------------------------------------------------------------
# The cast
# --------------------------------------------------------------------------------------

GIRLS = """Tansy Clover Hazel Juniper Bryony Poppy Willa Marigold Nettie Dilly Posy Elsie
Fern Mabel Olive Tilda Ivy Rosie Plum Nell Dora Maud Pearl Saffron""".split()

BOYS = """Pip Bertie Toby Otto Barnaby Fennel Alder Ned Jasper Oswin Wilf Monty Tam Basil
Perkin Hob Rowan Humphrey Finn Gilbert Teasel Corin Bramwell Jory""".split()

BIRD_HOMES = [
    "in a round nest in the gorse", "in the old apple tree behind the mill",
    "in a hawthorn hedge", "under the eaves of the bakery", "in a wall full of ivy",
    "in a nest lined with wool at the end of the lane", "in the pear tree by the well",
    "at the top of a crooked elm",
]
WOOD_HOMES = [
    "under the roots of an old oak", "in a snug burrow under the hill",
    "in a hollow log beside the brook", "in a small house with a round green door",
    "at the edge of a quiet wood", "at the bottom of a garden", "behind the blackberry bushes",
    "in a den full of dry leaves", "under the steps of the mill",
]
WATER_HOMES = [
    "among the reeds by the pond", "on the bank of a slow green river",
    "beside the mill pond", "under a little stone bridge", "in a mossy hole beside the stream",
]
CHILD_HOMES = [
    "in a cottage at the edge of the wood", "in a tall thin house by the sea",
    "in two rooms above the bakery", "in a blue house at the end of the lane",
    "in a windmill on a hill", "in a farmhouse with a crooked chimney",
    "beside a river with her grandmother|beside a river with his grandmother",
]

# kind: (group, ways of going, limbs for holding things, limbs for stretching, homes)
KINDS = {
    "linnet": ("bird", "flew fluttered hopped", "wing", "wings", BIRD_HOMES),
    "robin": ("bird", "flew hopped", "wing", "wings", BIRD_HOMES),
    "wren": ("bird", "flew fluttered", "wing", "wings", BIRD_HOMES),
    "sparrow": ("bird", "flew hopped", "wing", "wings", BIRD_HOMES),
    "owl": ("bird", "flew glided", "wing", "wings", BIRD_HOMES),
    "duckling": ("water", "waddled paddled", "wing", "wings", WATER_HOMES),
    "otter": ("water", "trotted bounded", "paw", "legs", WATER_HOMES),
    "frog": ("water", "hopped leaped", "foot", "legs", WATER_HOMES),
    "fox": ("wood", "trotted ran", "paw", "legs", WOOD_HOMES),
    "hare": ("wood", "bounded ran", "paw", "legs", WOOD_HOMES),
    "hedgehog": ("wood", "pattered trundled", "paw", "legs", WOOD_HOMES),
    "mouse": ("wood", "scampered pattered", "paw", "legs", WOOD_HOMES),
    "badger": ("wood", "plodded trotted", "paw", "legs", WOOD_HOMES),
    "mole": ("wood", "shuffled pattered", "paw", "legs", WOOD_HOMES),
    "squirrel": ("wood", "scurried scampered", "paw", "legs", WOOD_HOMES),
    "rabbit": ("wood", "hopped scampered", "paw", "legs", WOOD_HOMES),
    "bear": ("wood", "plodded ambled", "paw", "legs", WOOD_HOMES),
    "kitten": ("wood", "padded skipped", "paw", "legs", WOOD_HOMES),
    "tortoise": ("wood", "plodded crept", "foot", "legs", WOOD_HOMES),
    "girl": ("child", "walked ran skipped", "hand", "arms", CHILD_HOMES),
    "boy": ("child", "walked ran marched", "hand", "arms", CHILD_HOMES),
}
PLURAL = {"wing": "wings", "paw": "paws", "foot": "feet", "hand": "hands"}

BIRDS = [k for k, v in KINDS.items() if v[0] == "bird"]
CHILDREN = ["girl", "boy"]
WALKERS = [k for k in KINDS if k not in BIRDS]
ANYONE = list(KINDS)
# How often each kind is the hero; the linnet is the bird of the house.
HERO_WEIGHT = {"linnet": 7.0, "fox": 2.0, "girl": 2.0, "boy": 2.0, "hedgehog": 1.5, "mouse": 1.5}

HELPERS = ["linnet", "owl", "tortoise", "badger", "otter", "heron", "mole", "hare", "squirrel",
           "blackbird", "gardener", "miller", "fisherman"]
HELPER_GROUP = {"linnet": "bird", "owl": "bird", "heron": "bird", "blackbird": "bird"}
HELPER_ADJ = "kind wise friendly cheerful gentle old elderly jolly clever patient".split()

# Passers-by have no names; they are never heroes or helpers, so nobody is mixed up.
PASSERS = "goose cow sheep donkey rooster pig goat hen crow turkey pony duck".split()

VILLAGES = ["Thistledown", "Applecombe", "Puddlewick", "Nettlebury", "Bramblehay", "Mossford",
            "Little Wending"]
TREES = "oak willow elm chestnut beech poplar".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
FOODS = ["plum cake", "hot soup", "warm bread and butter", "toast and honey", "apple pie",
         "blackberry tart", "pancakes", "roasted chestnuts"]

SEASONS = {
    "spring": "bright soft fresh breezy".split(),
    "summer": "warm sunny golden still".split(),
    "autumn": "misty windy crisp golden".split(),
    "winter": "frosty snowy cold white".split(),
}

# An adjective for the hero, and what people said about it.
TRAITS = {
    "little": """
{He} liked [ripe plums|warm bread|honey cakes|buttered toast], [soft rain|tall grass|the smell of hay|windy days], and [long stories|loud songs|staying up late|other people's birthdays].
{He} was no bigger than {he} had to be, and that was [quite big enough|just the right size].
{He} had [two good friends|many friends], one warm [blanket|scarf], and no [worries|enemies] at all.
""",
    "small": """
{He} was so small that nobody ever saw {him} coming, which was [useful|handy] at tea time.
{He} was small on the outside but [quite large|rather grand] on the inside.
""",
    "curious": """
{He} asked so many questions that even the snails [went home early|began to walk faster].
{He} wanted to know why [rain was wet|cows had corners|the moon was out so late], and [who was in charge of it|whom to ask about it].
""",
    "shy": """
{He} was so shy that {he} said good morning only to the [daisies|mushrooms].
When visitors came, {he} hid behind the [curtain|coal bucket] until they had [gone home|finished the cake].
""",
    "tidy": """
{He} swept {his} doorstep twice a day, and three times on Sundays.
{He} kept {his} [acorns|buttons|spoons] in a row and {his} [thoughts|socks] in order.
""",
    "cheerful": """
{He} hummed while {he} worked, and {he} hummed while {he} rested.
Even on [wet Mondays|the greyest days], {he} found something to [laugh|whistle] about.
""",
    "sleepy": """
{He} could fall asleep anywhere, even in the middle of a [sneeze|sentence|puddle].
{He} got up late, had a nap, and then [rested until bedtime|went to bed early].
""",
    "hungry": """
{He} thought about lunch at breakfast, and about supper at lunch.
{He} had never met a [bun|pie|pudding] {he} did not like.
""",
    "brave": """
{He} was not afraid of anything, except [geese|soap|the dentist|cold baths].
{He} had once said boo to a goose, and the goose had said sorry.
{He} had once said boo to a bull, and the bull had apologised.
""",
    "clumsy": """
{He} had once tripped over {his} own shadow and [begged its pardon|blamed the sun].
{He} bumped into [doors|trees] so often that they had begun to [lean away|feel like old friends].
""",
    "polite": """
{He} said thank you to the rain and begged the pardon of [puddles|every stone {he} stepped on].
{He} never ate the last [biscuit|bun], unless it looked lonely.
""",
    "stubborn": """
Once {he} had begun a thing, {he} always finished it, even if it was [soup|a very long nap].
If you said no to {him}, {he} heard [perhaps|not yet].
""",
    "dreamy": """
{He} spent whole afternoons looking at clouds and giving them [names|good advice].
{He} often put {his} hat on the kettle and [the kettle|the lid] on {his} head.
""",
    "merry": """
{He} laughed at {his} own jokes, and most of them were [about cheese|quite good].
Wherever {he} went, there was [a song|some laughing], and usually some [mud|jam] as well.
""",
    "careful": """
{He} looked both ways before crossing a [puddle|leaf|room].
{He} counted {his} [toes|spoons] every evening, to be sure that [none had wandered off|they were all there].
""",
}
ADJ_WEIGHT = {"little": 8.0, "small": 2.0}

# --------------------------------------------------------------------------------------
# Beginnings and endings
# --------------------------------------------------------------------------------------

# (weight, text, whether a time of day has already been told)
OPENINGS = [
    (16, "Once upon a time, there was a(n) {adj} {kind} named {H} who lived {home}.", False),
    (9, "Once upon a time, a(n) {adj} {kind} named {H} lived {home}.", False),
    (8, "Once upon a time, {home}, there lived a(n) {adj} {kind} named {H}.", False),
    (7, "Once upon a time, in the village of {V}, there lived a(n) {adj} {kind} named {H}.", False),
    (2, "Once upon a time, and not so very long ago, a(n) {adj} {kind} named {H} lived {home}.", False),
    (6, "One {tadj} morning, a(n) {adj} {kind} named {H} {woke}.", True),
    (7, "One morning, a(n) {kind} named {H} {woke}.", True),
    (3, "One {tadj} {season} morning, a(n) {kind} named {H} {woke}.", True),
    (3, "On the first day of {season}, a(n) {adj} {kind} named {H} {woke}.", True),
    (5, "The {adj} {kind} was called {H}, and {he} lived {home}.", False),
    (5, "The {adj} {kind} who lived {home} was called {H}.", False),
    (4, "The {adj} {kind} had a fine name, and it was {H}. {He} lived {home}.", False),
    (6, "{H} was a(n) {adj} {kind} who lived {home}.", False),
    (5, "There was once a(n) {adj} {kind} named {H} who lived {home}.", False),
    (4, "Long ago, when [the hills were young|every brook had a name|the moon was a little rounder], "
        "a(n) {adj} {kind} named {H} lived {home}.", False),
    (4, "{Home} lived a(n) {adj} {kind} named {H}.", False),
    (3, "Far away, beyond the last hill, there lived a(n) {adj} {kind} named {H}.", False),
    (4, "Everybody in {V} knew {H}, the {adj} {kind} who lived {home}.", False),
    (3, "In the village of {V} there was a(n) {adj} {kind} named {H}.", False),
    (3, "A(n) {adj} {kind} named {H} lived {home}.", False),
    (3, "{H} the {kind} lived {home}.", False),
    (2, "Deep in the wood, where the [moss|fern] grew thick, there lived a(n) {adj} {kind} named {H}.", False),
    (2, "A long time ago, a(n) {adj} {kind} named {H} lived {home}.", False),
    (2, "There once was a(n) {adj} {kind} named {H} who lived {home}.", False),
    (3, "It was a {tadj} {season} morning, and a(n) {kind} named {H} had just eaten breakfast.", True),
    (2, "It was a {tadj} morning in {V}, and a(n) {adj} {kind} named {H} {woke}.", True),
]
WOKE = [
    "woke up {home} and [yawned a large yawn|sniffed the air|said good morning to the sun]",
    "woke early and stretched both {limbs}",
    "opened one eye, then the other, and [smiled|got up]",
    "got up before the sun and [ate two breakfasts|put the kettle on]",
    "looked out at the world and found it [still there|very much in order]",
]
WHEN_NEW = ["One {tadj} morning", "One {tadj} morning", "One {tadj} {season} morning", "One day",
            "One {tadj} afternoon", "One {day} morning", "Early one morning", "One {season} day"]
WHEN_OLD = ["That very morning", "Just after breakfast", "A little later", "Before long",
            "When breakfast was over", "That same day"]

GOODBYES = """
And they all slept well that night, except the owl, who had other plans.
And if you walk that way at dusk, you may hear them laughing still.
And that was the end of the matter and the beginning of supper.
From that day on, {H} and {K} were the best of friends.
And that night the moon came out early, just to hear about it.
"What a day," said {H}, and fell asleep with {his} [hat on|boots on|mouth open].
And the story went all round {V} before bedtime and came back a little longer.
And as far as anybody knows, they are happy still.
That night the stars came out one by one, and {H} [counted nine|wished them all good night] and fell asleep.
And they talked about it until the candle was no taller than a button.
And everyone who hears of it says that it could not have gone better.
And somewhere in a hedge a bird made a song of it, which you may still hear in {season}.
"Tomorrow," said {K}, "let us do [something quiet|nothing at all]." And they nearly did.
""".strip().split("\n")

# --------------------------------------------------------------------------------------
# The plots.  Each has a text, the kinds of hero that suit it, and the sorts of things that
# may vary in it (each of those is a dictionary of further keys).
# --------------------------------------------------------------------------------------

PLOTS = []


def plot(text, heroes=ANYONE, variants=({},), weight=1.0, helpers=HELPERS, season=None, never=()):
    paragraphs = []
    for part in text.strip("\n").split("\n---\n"):
        steps = []
        for block in part.strip().split("\n\n"):
            optional = block.startswith("? ")
            lines = block[2:] if optional else block
            steps.append((optional, [line.strip() for line in lines.strip().split("\n")]))
        paragraphs.append(steps)
    PLOTS.append(dict(paragraphs=paragraphs, heroes=heroes, variants=variants, weight=weight,
                      helpers=helpers, season=season, never=never))


def things(columns, rows):
    """Rows of cells separated by ' / ', as a list of dictionaries."""
    names = columns.split()
    out = []
    for row in rows.strip().split("\n"):
        cells = [c.strip() for c in row.split(" / ")]
        assert len(cells) == len(names), row
        out.append(dict(zip(names, cells)))
    return out


# --- 1. Something dear is lost, and is found in use ------------------------------------
plot("""
{His} [dearest treasure|favourite thing in the world] was a(n) {obj}, which {he} [polished every Sunday|showed to every visitor|took to bed every night|had been given by {his} grandmother].
More than anything, {H} loved {his} {obj}, which {he} [polished every Sunday|had won at the fair|took with {him} everywhere].
Of all the things {he} owned, {H} liked {his} {obj} best, because it was [the only one of its kind in {V}|a present from {his} grandmother|so useful and so bright].

{When}, the {o} was gone.
{When}, {he} reached for the {o}, and it was not there.
{When}, {H} found that the {o} was missing.
{When}, {he} went to fetch the {o}, and found only the place where it had been.

? {He} looked under the bed, behind the door, and even in the [teapot|honey jar|porridge], but there was no {o}, only [a very old biscuit|some dust|one surprised moth].
{He} looked high and low, and then low and high, but there was no {o} anywhere.
---
? "Have you seen my {obj}?" {he} asked a(n) {n1}. "No," said the {n1}, "but I have seen [a great deal of grass|a very fine cloud|three good puddles], if that helps." It did not help.
"Have you seen my {obj}?" {he} asked a(n) {n1}. "I have not," said the {n1}, "because I [never look down|had my eyes shut|was asleep until now]."
{He} asked a(n) {n1}, who had not seen it, and then {he} asked the {n1} again, in case it had [just gone by|come back].

Then {K}, a(n) {kadj} {kkind}, stopped to listen. "Do not [worry|lose heart|cry]," said {K}. "I saw something [odd|strange|curious] {spot}."
Then along came {K}, a(n) {kadj} {kkind}. "I saw something [odd|strange|curious] {spot}," said {K}. "Come with me."
"Are you looking for a(n) {obj}?" called {K}, a(n) {kadj} {kkind}. "There is one {spot}. It seems to be in use."

Off they went at once, and {spot} they found a(n) {f}. The {f} {use}.
So the two of them hurried off, and there, {spot}, was a(n) {f}. The {f} {use}.
---
? "[Oh dear|Goodness|Dear me], is it yours?" asked the {f}. "I thought it had [fallen from the sky|grown there|come from the moon]."
"Finders keepers," said the {f}, and then saw {H}'s face, and said, "or perhaps finders sharers?"

{H} laughed so much that {he} [had to sit down|got the hiccups|forgot to be cross]. "You may borrow it every {day}," {he} said, [and the {f} bowed|and they shook {paws} on it].
{H} was so glad that {he} could not be cross at all. "You may have it on {day}s," {he} told the {f}, "and I will have it on the other days."

After that, {H} kept the {o} on a long string, and {K} [tied the knot|held the other end].
And so the {f} came to tea every {day}, and the {o} had two good homes.
And every evening {H} looked to see that the {o} was there, and that the {f} was well.
And {K} was given the largest slice of {food} as a reward.
""", weight=1.6, variants=things("obj o f use", """
red button / button / beetle / was using it as a dinner table
red button / button / snail / was wearing it as a hat
silver bell / bell / moth / was sleeping inside it
silver bell / bell / spider / had hung it over her front door
brass key / key / magpie / was stirring her tea with it
brass key / key / newt / was leaning on it like a walking stick
blue scarf / scarf / ladybird / had made a tent out of it
blue scarf / scarf / caterpillar / was wearing all of it at once
tin whistle / whistle / cricket / was practising his scales on it
tin whistle / whistle / earwig / had moved into it with a very small bed
wooden spoon / spoon / toad / was rowing a lily leaf with it
wooden spoon / spoon / beetle / was sliding down it and shouting with joy
striped sock / sock / caterpillar / was wearing it from head to tail
striped sock / sock / magpie / had filled it with shiny stones
golden thimble / thimble / bumblebee / was taking a bath in it
golden thimble / thimble / snail / had put it on like a helmet
green umbrella / umbrella / toad / was sailing round a puddle in it
round mirror / mirror / newt / was admiring his spots in it
round mirror / mirror / magpie / was wishing herself good morning in it
little drum / drum / ladybird / was dancing on it
little drum / drum / toad / was sitting on it like a king
yellow hat / hat / spider / was teaching her children to climb it
china cup / cup / newt / was bathing in it and singing
paper fan / fan / moth / was using it as a sail
"""))

# --- 2. Wishing to learn something -------------------------------------------------------
SKILL_TEXT = """
{H} had one great wish: {he} wanted to {skill}.
More than anything in the world, {H} wanted to {skill}.
{H} had only one wish, and that was to {skill}.

{When}, {he} tried it all by {himself}. {Fail}
{When}, {he} went behind the [barn|haystack|mill], where nobody could see, and tried. {Fail}

? "I shall never learn to {skill}," {he} [sighed|said sadly], and {he} sat down on a [stone|log|mushroom].
"It is no use," said {H}. "I was not made to {skill}."
{He} tried again, and it was worse. "Perhaps I am holding it upside down," said {H}, who was not holding anything.
---
A(n) {kadj} {kkind} named {K} had been [watching|listening] from the other side of the hedge. "{Tip}," said {K}.
Just then {K}, a(n) {kadj} {kkind}, came by with a basket of [eggs|pears|nuts]. "{Tip}," said {K}.

So {H} practised every day, in sun and in rain. At first {progress}.
Every evening {K} came to help, and brought {food}. At first {progress}.
So {H} tried again, and again, and eleven times more. At first {progress}.
---
{Success}

? "[I knew it|There you are|Well done]," said {K}, [and wiped away a tear|who was very proud|and pretended it was the wind that made {khis} eyes water].
"Who taught you that?" asked everybody. "{K} did," said {H}, "and {n0} bruises."
{K} clapped until {khis} {kpaws} were sore.
And {H} was so happy that {he} [forgot to stop|hugged {K}, and then the gatepost].
"Once more!" cried {K}, and so {H} did it once more.
"""
SKILL_COLS = "skill fail tip progress success"
plot(SKILL_TEXT, heroes=[k for k in ANYONE if k not in ("duckling", "otter")], weight=0.9,
     variants=things(SKILL_COLS, """
sing / what came out was a squeak, and a passing {n1} said, "Bless you." / a song is shy, so do not pull it. Think of something you love and let it come out by itself / it sounded like a gate, and then like a kettle, and then one evening it sounded like a song / on midsummer night {H} sang beside the pond, and even the frogs stopped to listen.
sing / the noise was so strange that the {n1} next door put out the fire and ran. / first listen to the brook, and then to the wind, and then begin softly / only the worms came to listen, but they stayed to the end / at the [harvest|spring] fair {H} sang three songs, and the baker cried into the buns.
whistle / all that came out was a puff of air and a few crumbs. / swallow your breakfast first, and then make your mouth as round as a pea / it sounded like soup, but a little better every day / one [bright|clear] morning {he} whistled so sweetly that the kettle [answered|was jealous].
dance / {he} trod on {his} own toes, and then on the toes of a(n) {n1}, who had to lie down. / let your ears dance first, and your feet will follow / {he} fell into the [washing basket|rhubarb] only twice a day / at the harvest dance {H} went round and round like a leaf, and the {n1} asked for the next waltz.
paint / {he} painted a cow, but everybody said it was a very good teapot. / look twice as long as you paint / {his} trees looked like brooms and {his} brooms looked like trees / {he} painted the sunrise on the barn door, and the rooster crowed at it by mistake.
tell a joke / {he} forgot the end, then the middle, and then the {n1} forgot to laugh. / keep the best word for last, and do not laugh before it comes / nobody laughed but the {n1}, who laughed at everything / {he} told the one about the [goose and the ladder|cow and the clock], and the whole village laughed until the plates rattled.
play the fiddle / the first note was so sharp that the milk turned sour. / hold it like a friend, and not like a fish / the {n1} wore earmuffs, even in bed / {he} played by the fire on {day}, and even the chairs wanted to dance.
"""))
plot(SKILL_TEXT, heroes=[k for k in WALKERS if k not in ("duckling", "otter", "frog")], weight=0.4, season="summer",
     variants=things(SKILL_COLS, """
swim / {he} jumped into the pond and came up wearing a water lily. / the water will carry you, if you only stop fighting it / {he} paddled in circles, and then in a wobbly line / before the summer was over, {he} swam across the whole pond, and the ducks gave {him} a medal made of mud.
"""))
plot(SKILL_TEXT, heroes=WALKERS, weight=0.4, variants=things(SKILL_COLS, """
juggle / {he} threw three apples into the air, and all three came down on the {n1}. / look at the top of the throw, and trust your {paws} / one apple went well, and two apples went badly, and the third was eaten / at the fair {H} juggled [four pears|five apples] and a bun, and caught the bun with {his} mouth.
"""))
plot(SKILL_TEXT, heroes=[k for k in WALKERS if k not in ("tortoise", "frog")], weight=0.3, season="winter",
     variants=things(SKILL_COLS, """
skate / {he} went across the ice on {his} tail, straight into the {n1}. / bend your knees, and look where you wish to go / {he} looked like a chair falling down the stairs / on the coldest day of winter {H} went round the pond like a [swallow|swift], and did not sit down once.
"""))
plot(SKILL_TEXT, heroes=["linnet", "robin", "wren", "sparrow", "owl"], weight=0.6,
     variants=things(SKILL_COLS, """
fly in a circle / {he} flew in a square and bumped into the weathercock. / lean on the wind a little, as you lean on a friend / {his} circles looked like eggs, and then like potatoes / one evening {H} drew a perfect ring in the sky, and the {n1} below grew dizzy just from looking.
fly backwards / {he} flew tail first into the washing and came out wearing a sock. / first remember where you have been, and then go there / {he} went sideways, and then nowhere / on {day} {H} flew backwards all the way round the church tower, and saw everything twice.
"""))

# --- 3. Something is stuck up high -------------------------------------------------------
plot("""
{When}, {he} was playing with {his} {obj} when a gust of wind [snatched it away|came over the hill] and {carried} it to the top of {high}.
{When}, a rude wind took {his} {obj}, tossed it three times, and left it at the top of {high}.
{When}, {his} {obj} blew out of {his} {paws} and sailed away, and did not stop until it came to the top of {high}.

? "Come down, please," said {H}. The {o} did not come down.
"Come down at once," said {H}, but {o}s are not good at doing what they are told.
---
{H} threw a boot at the {o}, and then the boot was stuck too. [Sparrows live in it to this day|It is up there still].
{H} jumped and jumped, until {he} had jumped [a hole in the lawn|right out of {his} boots].
{H} shouted at it, and then {he} sang to it, and neither was any use.
{H} climbed on a chair, and then on a table, and then on the chair on the table, and then {he} sat down in the grass rather suddenly.

? A(n) {n1} came to help, and stood on the back of a(n) {n2}, and they both fell into the [nettles|ditch|hay].
"Have you tried waiting for winter?" asked a(n) {n1}. {H} did not want to wait for winter.
"I could eat it down," said a(n) {n1}, "if it is the sort of thing one eats." {H} thanked the {n1} and said no.
A(n) {n1} gave it a good talking to, but it only fluttered.
---
Then {K} flew over the hedge. {K} was a(n) {kadj} {kkind}, and {khe} liked [helping|knots|high places]. "Leave it to me," said {K}.
A(n) {kadj} {kkind} named {K} heard the noise and flew down to see. "Is that all?" said {K}. "Wait here."
"May I?" said somebody behind {him}. It was {K}, a(n) {kadj} {kkind}, who had wings and was not afraid to use them.

Up {khe} went, and with one small [tug|peck] the {o} came floating down, right onto {H}'s head.
Up {khe} went, round and round, and a moment later down came the {o}, with [three leaves|an old nest] on top.

{H} gave {khim} half of {his} {food}, and {K} [sang for joy|ate it in one bite].
After that, whenever the wind blew, {H} held on to {his} {o} with both {paws}, and {K} [laughed|kept watch].
{H} clapped {his} {paws} and danced, and {K} bowed so low that {khe} nearly fell over.
"Thank you," said {H}. "How can I repay you?" "Crumbs," said {K}. "I am very fond of crumbs."
""", heroes=WALKERS, weight=1.2, helpers=["linnet", "linnet", "linnet", "blackbird", "owl"],
     variants=[dict(obj=o, o=o.split()[-1], high=h, carried=c) for o in
               ["red kite", "yellow kite", "paper kite", "straw hat", "woolly hat", "best hat",
                "blue balloon", "green ribbon", "silk scarf", "spotted scarf"]
               for h in ["the tallest {tree}", "the church tower", "the mill", "the old {tree}"]
               for c in ["carried", "swept"]])

# --- 4. Cooking, with something missing --------------------------------------------------
COOK_TEXT = """
{When}, {he} decided to make a(n) {dish} for {occasion}.
{When}, {he} tied on {his} apron, for {he} meant to make a(n) {dish} for {occasion}.
{When}, {he} rolled up {his} sleeves and began to make a(n) {dish} for {occasion}.

But when {he} opened the cupboard, there was no {ing}, only [a cork and two buttons|one bean and a spider|an empty jar].
But halfway through {he} found that there was no {ing} left, not even a [little|crumb].
But when {he} reached for the {ing}, the jar was empty. It had been a very small jar, and {he} had been very hungry on {day}.
---
So {he} {went} to {owner}. "Please, may I have {amount}?" asked {H}. "You may," said {owner}, "if you give me {want} for it."
So {he} {went} off to see {owner}, who had plenty. "{Amount}? Certainly," said {owner}, "but first I should like {want}."

{Gave}
---
So {he} got the {ing}, and {he} sang all the way home. Before long the {s} was ready, and the whole street was sniffing.
Home {he} {went} with the {ing}, and {he} stirred and tasted, and tasted and stirred, until all of {V} smelled [wonderful|like a holiday].
{H} hurried home with the {ing}. Soon the {s} was ready, and the smell went down the lane and knocked at every door.

? The {s} was a little [crooked|lumpy|burnt on one side], but nobody minded.
It was the biggest {s} that {he} had ever made, and the table [groaned|creaked].
-

"This is the best {s} I have ever eaten," said {K}, who was on {khis} third helping.
"I am quite full," said {K} at last, and then had a little more.
{K} took one bite, shut {khis} eyes, and did not open them until the plate was clean.
{K} ate three helpings and then lay down in the grass to [think about it|smile].

? When they had finished, there was nothing left but the spoon.
There was a little left over, and they sent it to {owner} with their love.
The {n1} from next door licked the bowl, and [said it was a pleasure|asked for the recipe].
"""
_OCC = ["{his} friend {K} the {kkind}, whose birthday it was", "{his} friend {K} the {kkind}, who had a cold",
        "{his} old friend {K} the {kkind}, who was coming to tea",
        "{his} neighbour {K} the {kkind}, who had been feeling sad"]
_SWEET = ["plum cake", "apple pie", "blackberry tart", "cherry pudding", "walnut cake", "honey cake", "gooseberry pie"]
_ING = {"honey": ("a spoonful of honey", "the queen bee"), "milk": ("a jug of milk", "the brown cow"),
        "flour": ("a bag of flour", "the mill cat"), "sugar": ("a cup of sugar", "the grocer"),
        "butter": ("a lump of butter", "the dairymaid"), "salt": ("a pinch of salt", "the old sailor")}
_WANTS = [("a song", "{H} sang the only song {he} knew, and then {he} sang it again with more noise."),
          ("a song", "{H} sang about [rain|turnips|the sea], and {owner} joined in."),
          ("a joke", "{H} told the one about the goose and the ladder, and {owner} laughed until it hurt."),
          ("a riddle", "\"What has a bed but never sleeps?\" asked {H}. {Owner} thought for an hour and gave up. \"A river,\" said {H}."),
          ("a dance", "{H} danced three times round the yard, and only fell over once."),
          ("a kind word", "\"You have a lovely [voice|smile],\" said {H}, and {owner} turned quite pink."),
          ("a story", "{H} told a story about a very small whale, and {owner} asked what happened next, and next, and next.")]
plot(COOK_TEXT, heroes=[k for k in ANYONE if k not in ("linnet", "wren", "sparrow", "robin", "owl")] + ["linnet"],
     weight=1.3,
     variants=[dict(dish=d, s=d.split()[-1], ing=i, amount=_ING[i][0], owner=_ING[i][1], want=w, gave=g, occasion=o)
               for d in _SWEET + ["onion soup", "carrot soup", "pea soup"]
               for i in (["salt", "butter", "milk"] if d.endswith("soup") else ["honey", "milk", "flour", "sugar", "butter"])
               if not (d == "honey cake" and i == "honey")
               for w, g in _WANTS for o in _OCC])

# --- 5. After the storm ------------------------------------------------------------------
STORM_TEXT = """
One night there was a great storm. The wind [howled|roared], the rain [drummed|rattled], and {broke}.
One wild night in {season}, the wind blew so hard that {broke}.
There came a night when the wind was so strong that {broke}, and nobody in {V} slept a wink.

In the morning {H} stood in the wet grass and looked at {what}. "Oh dear," {he} said, and a tear ran down {his} {nose}.
In the morning {H} looked at {what}. "Well," {he} said in a small voice, "it was [draughty|old] anyway."
---
Then {K}, a(n) {kadj} {kkind}, came down the lane with a [hammer|ladder|ball of string]. "We shall have it mended by supper," said {K}.
"Do not cry," said {K}, a(n) {kadj} {kkind}. "I have a hammer, two ladders, and nothing to do until {day}."
But {K} had seen it all. {K} was a(n) {kadj} {kkind}, and {khe} went from door to door and called everybody to come and help.

A(n) {n1} brought [straw|moss], a(n) {n2} brought [nails|wool], and a very small beetle brought good advice.
A(n) {n1} did the lifting, a(n) {n2} did the [measuring|holding], and a very old snail arrived just in time for lunch.
A(n) {n1} held the ladder, a(n) {n2} held the {n1}, and three sparrows held a meeting.

? They [worked and sang|pushed and pulled] all day, and {K} beat time with a spoon.
They worked until the sun was low, and only [one thumb was|two toes were] hurt.
{K} dropped a plank on {khis} own foot and said it was nothing, in a very high voice.
---
By evening {fixed}. It was a little crooked, but so was the moon that night.
By evening {fixed}. "It is better than before," said {H}, and it was.

Then {H} made {food} for everybody, and they sat [close together|in a ring] and listened to the wind, which had nothing left to blow down.
"How can I thank you all?" asked {H}. "With {food}," said everybody at once, and that is what they had.
"Let it blow," said {H} that night, and pulled the blanket up to {his} chin.
"""
plot(STORM_TEXT, heroes=BIRDS, weight=0.7, season="autumn", variants=things("broke what fixed", """
it shook {his} nest to pieces / the bits of {his} nest / there was a fine new nest, lined with wool and feathers
it blew {his} nest into the next field / the place where {his} nest had been / there was a new nest, twice as [soft|warm] as the old one
"""))
plot(STORM_TEXT, heroes=WALKERS, weight=0.8, season="autumn", variants=things("broke what fixed", """
it carried off {his} front door / the hole where {his} door had been / there was a new door, painted [green|blue|red]
it knocked down {his} chimney / the heap of stones that had been {his} chimney / there was a new chimney, and smoke came out of the right end
it lifted the roof off {his} house / the sky above {his} bed / there was a new roof of straw, as thick as a bear
it broke {his} little bridge / what was left of {his} bridge / there was a new bridge, strong enough for a cow
"""))

# --- 6. Being afraid -----------------------------------------------------------------------
FEAR_TEXT = """
But {H} had a secret: {he} was afraid of {fear}. {Detail}
There was only one thing wrong. {H} was terribly afraid of {fear}. {Detail}
Nobody knew it, but {H} was afraid of {fear}. {Detail}

{When}, {he} told {his} secret to {K}, a(n) {kadj} {kkind}.
{When}, {K} found {him} hiding [under a cabbage leaf|in a flowerpot|behind the wood pile]. {K} was a(n) {kadj} {kkind} who never laughed at anybody.
{When}, {K} came to tea and saw that {H} was [pale|trembling]. "What is it?" asked {K}, who was a(n) {kadj} {kkind}, and {H} told {khim} everything.
---
"I used to be afraid of {fear} too," said {K}. "{Tip}."
{K} did not laugh. "{Tip}," said {K}.

{Act}
---
{H} took a deep breath, and [then another|counted to seven]. {Saw}
{H} shut {his} eyes, and then, very slowly, opened one of them. {Saw}

? "Well?" asked {K}. "It is [smaller|friendlier|nicer] than it looks," said {H}.
"I was only a little bit afraid," said {H}. "That is all that brave means," said {K}.

{End}
"""
plot(FEAR_TEXT, weight=0.9, never=["brave"], variants=things("fear detail tip act saw end", """
the dark / At night every chair looked like a [bear|wolf|giant]. / The dark is only the day with its eyes shut / That evening they sat outside together and waited for the last light to go. / First {he} saw one star, then ten, and then more stars than {he} could count. / Now {H} puts out the candle by {himself}, and wishes the dark good night.
the dark / {He} slept with three candles and one eye open. / Come and meet it, for it is very shy / That night they walked to the top of the hill, holding {paws}. / Glow-worms shone in the grass, and the whole valley was silver. / From then on, {H} gave {his} candles away, and kept only one for reading.
thunder / Whenever it rumbled, {he} put a saucepan on {his} head. / Thunder is only a big drum, and nobody can bite you with a drum / So when the next storm came, they took two spoons and a bucket and drummed back. / The thunder went boom, and {H} went bang, and it was the best band in {V}. / Now, when the sky grows black, {H} runs to fetch the spoons.
thunder / At the first rumble {he} was under the bed, and at the second {he} was under the rug. / It is only the clouds moving their furniture / When the next storm came, they sat at the window and guessed what was being moved. / "That was a wardrobe," said {H} after a great crash, and {he} began to laugh. / And when the storm was over, {H} was almost sorry that the clouds had finished.
the scarecrow / It stood in the field all night and never blinked. / Nobody ever says good morning to it, and that would make anyone look stern / So the next day they walked across the field together with a flower. / Close up, the scarecrow had a kind face made of a [turnip|sack], and a mouse asleep in its pocket. / Now the scarecrow wears the flower in its hat, and {H} brings a new one every {day}.
the big grey goose / It hissed at everyone who came near the gate. / Nobody hisses for no reason, so let us ask / They went up to the gate together, where the goose stood waiting. / "Good morning," {he} said in a very small voice. "Is something wrong?" "My feet are cold," said the goose, and burst into tears. / {H} knitted the goose two red socks, and nobody in {V} was ever hissed at again.
"""))
plot(FEAR_TEXT, weight=0.4, never=["brave"], heroes=[k for k in WALKERS if k not in ("duckling", "frog", "otter")],
     variants=things("fear detail tip act saw end", """
the high bridge / It swung and creaked, and the river below it was loud. / Do not look at the river, but look at me / So they went to the bridge together, and {K} waited on the far side and sang. / One step, then two, then twenty, and {he} was across. / Now {H} crosses it every day, and sometimes {he} stops in the middle to wave at the fish.
deep water / {He} would not even step over a large puddle. / Begin with a small puddle, and say good day to it / So they began with a puddle, and went on to a ditch, and came at last to the pond. / The water was cool and green, and it tickled {his} toes. / Now {H} goes paddling every {day}, and the [minnows|tadpoles] come to nibble {his} toes.
"""))

# --- 7. A little one is lost ---------------------------------------------------------------
plot("""
{When}, {he} heard somebody crying {spot}. It was a {baby}, with a very wet face.
{When}, {he} almost stepped on a {baby} that was sitting {spot} and sobbing.
{When}, a {baby} ran right into {H} and burst into tears. It had been looking the other way all morning.

"Where do you live?" asked {H}. "At home," sobbed the {baby}, which was true but not very helpful.
"Are you lost?" asked {H}. "No," said the {baby}. "I am here. It is my mother who is lost."
---
? "What is your home like?" asked {H}. "[It smells of mint|It has a red gate|There is mud, and it is lovely]," said the {baby}, "and my mother is there."
{H} dried its face with a dock leaf and gave it [half a bun|a ripe strawberry|a crust of bread]. At once it stopped crying, for it could not do both.

So {H} asked {K}, a(n) {kadj} {kkind}, who knew every path for miles around. "{Look}," said {K}. 
Then {H} called for {K}, a(n) {kadj} {kkind} who was good at finding things. "{Look}," said {K}.

They went over the [hill|bridge] and through the [wood|long grass], and the {baby} [rode on {H}'s back|asked what was for supper the whole way|told them everything it knew about worms].
They went [up the lane|along the river] and down again, and the {baby} [sang all the way|asked if they were there yet at every tree].
---
And there, beside [a red gate|a bed of mint|a muddy pond], a {mother} was calling and calling. "Here I am!" cried the {baby}. "I found you!"
At last they heard somebody calling. It was a {mother}, and she hugged the {baby} so hard that it [squeaked|sneezed].
Then the {baby} began to run. A {mother} was standing at a gate, and the two of them met with a bump and would not let go.

? "I only went to see the [end|other side] of the field," the {baby} explained. "It was not there."
The {mother} thanked them both, and gave them {food} to take home.
"Next time," said the {mother}, "get lost a little nearer." The {baby} promised.

{H} waved until they were out of sight, and walked home [whistling|with {K} under the stars].
The {baby} waved from the gate until they were no bigger than two beans.
And every {day} after that, the {baby} came to visit {H}, and never once forgot the way.
That evening {H} and {K} shared the last bun, and agreed that it had been a good day's work.
""", heroes=[k for k in ANYONE if k not in ("duckling", "kitten", "mouse", "rabbit", "wren")], weight=1.1,
     variants=[dict(baby=b, mother=m, look=l) for b, m in
               [("lamb", "woolly ewe"), ("small chick", "brown hen"), ("piglet", "large pink sow"),
                ("gosling", "grey goose"), ("calf", "spotted cow"), ("young pony", "dapple mare")]
               for l in ["Then we must look from higher up", "I know just the place",
                         "I think I heard someone calling beyond the hill", "Follow me, and mind the nettles"]])

# --- 8. A quarrel ----------------------------------------------------------------------------
plot("""
{H}'s best friend was {F}, a(n) {fkind} who lived next door.
Next door lived {F}, a(n) {fkind}, and the two of them did everything together.
{H} had a friend named {F}, a(n) {fkind}, and they had never quarrelled, or not since breakfast.

{When}, they found a(n) {obj} lying {spot}. "I saw it first!" cried {H}. "I saw it before that!" cried {F}.
{When}, they came upon a(n) {obj} {spot}. "It is mine," said {H}. "It is mine, only more so," said {F}.
---
? They pulled it this way and that way, until a {n1} asked them to be quarrelsome somewhere else.
They argued until their faces were red and the {n1} in the next field had a headache.
{H} held one end and {F} held the other, and neither would let go, not even to scratch.

At last they took the {o} to {K}, a(n) {kadj} {kkind} who had never been in a hurry.
So they went to {K}, a(n) {kadj} {kkind}, who knew about such matters.
Just then {K} came by, a(n) {kadj} {kkind} who liked peace and quiet. "What is all this?" asked {K}, and they both told {khim} at once.

{K} looked at the {o} for a long time. "{Judge}," said {K}.
---
{So}

? "Are we still friends?" asked {F}. "Of course," said {H}. "I was only shouting."
{H} looked at {F}, and {F} looked at {H}, and they both began to laugh.
And {F} gave {H} half of a bun, which is as good as a speech.
"I am sorry," said {H}. "I am sorry too," said {F}, "only more so."

{End}
""", weight=1.2, variants=things("obj o judge so end", """
golden pear / pear / I must taste it before I can judge / {K} ate one slice, and then another, and soon there were only two slices left, one for each of them. / After that, they settled their quarrels by themselves, because it was cheaper.
large umbrella / umbrella / Take one side each, and go home, and see what happens / Halfway home it began to rain, and there was room for two under the umbrella, but only if they stood close together. / They have shared it ever since, and on wet days they go out on purpose.
little red cart / cart / One of you shall pull, and the other shall ride, and then you shall change / So they went up the hill and down the hill until dark, and in the end they both rode, and {K} pulled. / And they painted both their names on the cart, which made it go faster.
woolly blanket / blanket / Cut it in two, and each be half as warm / They thought about this for a moment, and then they sat down under the blanket together. / It was so warm there that they asked {K} to come in too.
wooden boat / boat / A boat wants one to row and one to sing / So {H} rowed and {F} sang, and they went twice round the pond, and the fish put up their heads to listen. / They named the boat Halfandhalf, and nobody ever fell out of it again, except on purpose.
bag of toffee / toffee / Whoever is silent longest shall have it all / They both filled their mouths with toffee so as to keep quiet, and before long the bag was empty. / "I won," said {H}. "So did I," said {F}, and both were right.
tall blue hat / hat / Whoever wears it must also carry my coal / At once {H} said that it would look better on {F}, and {F} said that it would look better on {H}. / In the end they gave the hat to the {n1}, who looked splendid in it.
"""))

# --- 9. A noise in the night -------------------------------------------------------------------
plot("""
One night {H} was woken by a strange noise. "{Noise}," it went. "{Noise}."
One dark night, just as {H} was falling asleep, there was a noise. "{Noise}," it went, and then again, "{Noise}."
It was past midnight when {H} sat up in bed. Something outside was going, "{Noise}." It stopped, and then it went on, "{Noise}."

? {He} pulled the blanket over {his} head, but the noise [went on|came in under the blanket too].
"Perhaps it is [a giant|a dragon|a ghost]," thought {H}, "and perhaps it is hungry."
---
So {he} lit {his} lantern and went to wake {K}, a(n) {kadj} {kkind}. "There is a [giant|dragon|ghost] outside," whispered {H}. "[Then we must not keep it waiting|How nice|At this hour?]," said {K}.
As {he} did not like to be frightened alone, {he} fetched {K}, a(n) {kadj} {kkind}, and they were frightened together.
{He} tiptoed next door to fetch {K}, a(n) {kadj} {kkind}, who came in a nightcap and carried a [spoon|teapot|cushion] to fight with.

? They crept past the well, past the gate, and past a(n) {n1}, who was [fast asleep|dreaming of oats].
On tiptoe they went, {H} first with the lantern, and {K} [close behind|holding on to {him}].

"{Noise}," went the noise, quite close now. {H} held up the lantern with a trembling {paw}.
---
{Cause}

? They laughed so loudly that they woke [the rooster|all of {V}], [who crowed five hours too soon|which wanted to know what was so funny].
"I was not really frightened," said {H}. "Nor was I," said {K}, and neither of them let go of the other's {paw1}.

{End}
""", weight=1.2, variants=things("noise cause end", """
thump, thump, thump / it was only an old hare, beating the dust out of a rug. "I forgot to do it by day," said the hare. / So they helped to hold the rug, and were home again in time for a second sleep.
rumble, rumble, whee / it was only a badger, snoring in a wheelbarrow with a leaf on his nose. / They turned him gently onto his side, and the night was quiet, except for the crickets, who were allowed.
plink, plonk, plink / it was only the rain, dripping from the roof into three empty pots. / {K} added a fourth pot, and after that the noise was a tune.
scratch, scratch, scratch / it was only a spider, writing her name on the window with a pin. / "It is a good name," said {H}, and held the lantern so that she could finish it.
creak, creak, bump / it was only the garden gate, swinging to and fro because nobody had shut it. / {H} shut it, and remembered whose job that had been, and said nothing.
munch, munch, munch / it was only a cow, who had come through the hedge and was eating the cabbages. "Good evening," said the cow. "Is there any dressing?" / They led her home, and she was sorry, and she sent a cheese on {day}.
hum, hum, tick / it was only an old clock that somebody had left in the grass, and a cricket was singing along with it. / {H} took the clock home, and the cricket came too, to keep it company.
"""))

# --- 10. A seed ----------------------------------------------------------------------------------
plot("""
{When}, {he} found a small [brown|striped|round] seed in {his} [pocket|porridge|hat], and {he} planted it {where}.
{When}, a(n) {n1} gave {him} a seed in exchange for a [bun|joke|button], and {he} planted it {where}.
{When}, a small seed fell out of the sky and bounced off {his} {nose}, so {he} planted it {where}.

? Then {he} sat down to wait. {He} waited [a whole minute|until lunch|for an hour]. "It does not work," said {H}.
"Grow," said {H}. Nothing happened. "Please grow," said {H}, because perhaps it was a polite seed.
Every hour {he} dug it up to see how it was getting on, and it was not getting on at all.
---
{K}, a(n) {kadj} {kkind}, looked over the fence. "A seed needs water and sun," said {K}, "and it needs not to be dug up every day."
"You must not shout at it," said {K}, who was a(n) {kadj} {kkind} and knew about gardens. "It is working as fast as it can."
"What is the hurry?" asked {K}, a(n) {kadj} {kkind}. "Leave it to the rain. It has done this before."

? So {H} watered it, and sang to it, and read it a story at bedtime.
So {H} gave it water in the morning and a little song in the evening, and tried hard not to look.

After a week there was a green [dot|point], and after a month there was a [leaf|stem] as long as a spoon.
Rain came, and sun came, and then one day there were two green leaves, as neat as ears.
---
By the end of summer it was {plant}. {Result}

? "I did not do much," said {H}. "You waited," said {K}, "and that is the hardest part."
"Did I do that?" asked {H}. "Half of it," said {K}. "The seed did the rest."
Everybody asked {H} how it was done. "By doing nothing," said {H}, "and it was very hard work."

And {H} kept one seed for the next year, in a [matchbox|thimble], where {he} could wish it good night.
And in autumn {H} gave a seed to everyone in {V}, and told them not to shout.
-
""", weight=1.0, season="spring", variants=[dict(plant=p, result=r, where=w) for p, r in [
    ("a pumpkin as big as a cart", "{H} made soup for forty, and a family of mice moved into the shell."),
    ("a pumpkin so large that it blocked the lane", "they cut a door in it, and it was the best shop in {V}."),
    ("a sunflower taller than the house", "the bees came from three villages, and {H} sat in its shade and ate {food}."),
    ("a sunflower so tall that the sun had to go round it", "on hot days half the village sat in its shade."),
    ("a bean with a hundred pods", "there were beans for supper every night, until even the {n1} asked for something else."),
    ("a bush full of red berries", "everybody came to pick them, and went home with red [noses|chins]."),
    ("a cabbage like a green armchair", "{H} sat in it every evening, and ate only the edges."),
] for w in ["beside the gate", "under the window", "in an old boot", "in a cracked teapot", "behind the mill"]])

# --- 11. Wishing for the moon ------------------------------------------------------------------------
plot("""
Every night {H} looked up at the moon. It looked like [a round cheese|a clean plate|a silver button|a large white bun], and {he} wanted it very much.
"I should like to have the moon," said {H} one evening. "I would keep it [beside my bed|on the shelf|under my pillow] and never be in the dark."
One evening the moon hung so low over the hill that {H} thought, "I could reach it, if I had something to stand on."

{When2}, {he} [climbed on the haystack|climbed on the roof|stood on the back of a(n) {n1}] and reached as high as {he} could, but the moon [stayed where it was|took no notice].
{When2}, {he} [borrowed a net|put a bun on a string] and tried to catch it, but {he} caught only [the washing|a bat, who was very cross|the weathercock].
{When2}, {he} called to it for an hour. A(n) {n1} came, and two cats, but not the moon.
---
"What are you doing?" asked {K}, a(n) {kadj} {kkind}. "I am fetching the moon," said {H}. "Ah," said {K}. "You will want a bucket."
A(n) {kadj} {kkind} named {K} had been watching. "The moon does not like to be grabbed," said {K}, "but it will come if you give it [water|a drink]."

So they filled a bucket at the well and [set it on the grass|put it down by the door]. When the water was still, there was the moon, [round and bright|shining up at them], right in the middle.
{K} filled a bucket with water and told {him} to look inside. And there was the moon, [small and clear|not even wet].
"Bring it a bowl of water," said {K}, "and do not stare." When {H} looked again, the moon was lying in the bowl, as [round|calm] as an egg.
---
? "Is it mine?" whispered {H}. "Until morning," said {K}, "and then it must go home."
{H} sat beside it half the night and told it [all {his} secrets|a very long story].

Then the {n1b} came by and drank up the water, moon and all. {H} cried out, but when {he} looked up, the moon was back in the sky, looking [rather surprised|quite clean].
Now {H} puts out a bucket every clear night, and the moon has never once failed to come.
"Good night, moon," said {H} to the bucket, and, "Good night, moon," to the sky, so that neither would feel left out.
In the morning the bucket was empty of moon, but there was a [frog|leaf] in it, and {H} was pleased with that too.
""", weight=1.0)

# --- 12. A letter ---------------------------------------------------------------------------------------
plot("""
{When}, {he} found a letter lying {spot}. On it was written, in curly writing, "To {K} the {kkind}, {addr}."
{When}, the wind blew a letter right into {his} [porridge|hat|lap]. It said, "To {K} the {kkind}, {addr}."
{When}, a letter fell out of the postman's bag and landed {spot}. {H} picked it up. It was for {K} the {kkind}, {addr}.

? "A letter should not be late," said {H}, and set off at once with a [bun|pear] in {his} pocket.
"Somebody is waiting for this," thought {H}, so {he} put on {his} best scarf and set out.
"This is important," said {H}. "It has a stamp on it." And {he} set out at once.
---
? It was a long way. {He} {went} over two hills and [round|past] a bog that tried to keep {his} boots.
{He} {went} all morning, and when it rained {he} kept the letter dry under {his} hat and got wet everywhere else.

On the way {he} met a(n) {n1}. "Is that for eating?" asked the {n1}. "No," said {H}, "it is for reading." "What a waste," said the {n1}.
"May I lick the stamp?" asked a(n) {n1} at the crossroads. "Only with your eyes," said {H}, and hurried on.
On the road a(n) {n1} asked {him} to read it aloud. "It is not mine," said {H}, and walked a little faster, for {he} wanted to know too.

At last {he} came to a small [white|crooked|yellow] door, and knocked. A(n) {kadj} {kkind} opened it. "A letter?" said {K}. "For me?"
At last {he} found the place. {K} was at home, and {khe} put on {khis} spectacles and opened the letter with a fork.
"Come in, come in," cried {K}, who was a(n) {kadj} {kkind}. "A letter! I have not had one since the year of the big turnip."
---
"It says, 'Whoever brings this letter must stay to tea,'" {K} read aloud. "And who sent it?" asked {H}. {K} blushed. "I did," said {K}. "It is lonely here, and I hoped that somebody would bring it."
{K} read it twice and began to laugh. "It is from my sister," said {K}. "It says, 'I have sent you a friend. Please give this friend some cake.'"
"It says that I have won first prize for my [turnips|marrow|roses]," said {K}, "and the prize is {food} for two." Then {K} looked at {H} and set out two plates.

So they had tea, with {food}, and talked until the stars were out.
So {H} stayed to tea, and then to supper, and came again on {day}.

And the next week a letter came for {H}, and {he} did not need to ask who it was from.
And since that day {H} has carried the post of {V}, and no letter is ever late, or eaten.
-
""", weight=1.1, variants=[dict(addr=a) for a in
                           ["at the house beyond the hill", "by the old lighthouse", "at the end of the long lane",
                            "under the big rock", "on the other side of the wood", "at the top of the hill"]])

# --- 13. A cross neighbour ----------------------------------------------------------------------------
plot("""
Next door lived {K}, a grumpy {kkind} who never said good morning.
In the next house lived a grumpy {kkind} named {K}, who frowned at [the sun|the flowers|everybody] and slammed the gate.

{When}, {H} left {gift1} on {K}'s doorstep, knocked, and hid behind a [bush|barrel].
"Perhaps {khe} is only out of practice," thought {H}. {When}, {he} put {gift1} on {K}'s doorstep and ran away.
"Somebody should be nice to {khim}," thought {H}, "and I have time." {When}, {he} left {gift1} on the step and hid in a barrel.
---
{K} opened the door, looked at it, and said, "Hmph." But {khe} took it inside.
"What nonsense," said {K}, and looked up and down the lane, and carried it inside.
{K} looked at it from the left and from the right. "Who did this?" {khe} growled, but {khe} did not throw it away.

The next day {H} left {gift2}, and the day after that {gift3}. "Hmph," said {K} each time, but each time it was a smaller hmph.
The next day it was {gift2}. "Hmph," said {K}, but more quietly. On the third day it was {gift3}, and there was no hmph at all.
---
On the fourth day {H} overslept and left nothing. There was a knock at the door, and there stood {K}. "{Why}," said {K}.
On the fourth day the door opened before {H} could hide. "So it is you," said {K}. "{Why}."

{Fix}

? And now {K} says good morning to everybody, sometimes twice, just to be sure.
And {khis} gate is never slammed any more, because it is always open.
{K} still frowns a little on {day}s, but only to keep in practice.
""", weight=1.1, variants=[dict(gift1=g[0], gift2=g[1], gift3=g[2], why=w, fix=f) for g in [
    ("a bunch of daisies", "a warm bun", "a jar of jam"), ("a ripe pear", "a smooth white stone", "a pot of honey"),
    ("a warm bun", "a blue feather", "a basket of nuts"), ("a jar of jam", "a bunch of daisies", "a ripe pear"),
    ("a blue feather", "a pot of honey", "a warm loaf"),
] for w, f in [
    ("I lost my spectacles last winter, and I thought that everyone was making faces at me",
     "{H} found the spectacles in {K}'s own hat, and {K} saw that the whole lane was smiling."),
    ("Nobody has knocked at my door for years, and I had forgotten what to say",
     "\"You could begin with hello,\" said {H}. \"Hello,\" said {K}, and it went very well."),
    ("I have had a stone in my boot since {day}, and it has made me cross",
     "{H} pulled off the boot and shook it, and out fell a pebble no bigger than a pea."),
    ("I did not know how to say thank you, so I have baked a cake",
     "They ate the cake on the doorstep, and {K} told three jokes, all of them old and all of them good."),
    ("I have been so worried about you, for nothing came today",
     "{H} asked {khim} in, and they shared {food} by the fire until late."),
]])

# --- 14. The lost song (the linnet's own tale) -------------------------------------------------------------
plot("""
{H} had the [sweetest|clearest] song in the whole valley. But {when}, {he} opened {his} beak, and no song came out. {He} had forgotten it.
But {when}, {he} opened {his} beak to sing, and the song was gone. There was only [a small cough|the sound of a cork].
{H} sang every morning, and people set their clocks by it. But {when}, {he} opened {his} beak and nothing was there.

? "Where did you last have it?" asked a(n) {n1}, [who was trying to be useful|who lost things often].
"Try mooing," said a(n) {n1}. {H} tried, but it was not the same.
---
So {he} flew to the brook and begged a note, and the brook gave {him} a [low, laughing|bright, bubbling] one.
First {he} asked the wind, and the wind gave {him} one long soft note from the top of the {tree}.
{He} asked the rain, and the rain gave {him} a great many small notes, all of them wet.

? Then {he} asked the [church|school] bell, and it gave {him} a round golden note that was a little too big to carry.
Then {he} asked the bees, and they gave {him} a warm brown note that tickled.

Last of all {he} met {K}, a(n) {kadj} {kkind}. "I cannot sing," said {K}, "but I can [laugh|hum], and you may have that."
Then {he} met {K}, a(n) {kadj} {kkind} who was washing the dishes. "You may have the tune I wash to," said {K}. "I have used it only once."
---
{H} put all the notes together, shook them well, and sang. It was not the old song. It was a better one.
{H} flew to the top of the hedge, opened {his} beak, and out they came, one after another, in a song that nobody had ever heard before.
{H} took a breath that reached down to {his} toes, and sang. The notes [ran|flew] out into the air as if they had known each other for years.

When {he} had finished, it was so quiet that you could hear the [daisies|mushrooms] grow. Then everyone began to clap.
Even the {n1} stopped chewing. "That," said the {n1}, "was nearly as good as mooing."
The old song came back on {day}, and now {H} sings the one in the morning and the other at night.

-
And {K} still washes the dishes to it, and never breaks a plate.
""", heroes=["linnet"], weight=3.0, helpers=["mole", "badger", "hedgehog", "tortoise", "miller", "gardener"])

# --- 15. A voyage ----------------------------------------------------------------------------------------------
plot("""
{H} had always wanted to see {goal}.
All {his} life, {H} had dreamed of {goal}.

{When}, {he} pushed {boat} into the river, packed [bread and cheese|three pears|a large pie] in a spotted cloth, and climbed in.
{When}, {he} made a boat out of {boat}, with a [leaf|tablecloth|shirt] for a sail, and pushed off from the bank.

"Who will steer?" asked a {kkind} on the bank. "I do not know," said {H}. "Then I had better come," said the {kkind}, whose name was {K}.
{His} friend {K}, a(n) {kadj} {kkind}, came too, because somebody had to [steer|look at the map|eat the lunch].
"You will need a captain," said {K}, a(n) {kadj} {kkind}. "I am the captain," said {H}. "Then you will need somebody to tell you so," said {K}, and climbed in.
---
At first all went well. Then {H} noticed that {his} feet were wet. "We have a hole," {he} said. "Where does it lead?" asked {K}.
All went well until they hit a [rock|log|duck], and water came in through a small round hole.

They stopped up the hole with [a bun|a piece of cheese|one of {H}'s socks], and it was never quite the same again.
{K} sat on the hole, which was cold but very brave.
"Row faster," said {H}, "and perhaps it will not notice us." They rowed faster, and {K} bailed with {khis} hat.
---
{Found}

? "Shall we stay?" asked {K}. "Only until tea," said {H}.
"Is it as you thought it would be?" asked {K}. "No," said {H} happily. "It is much more so."
-

They were home before dark, and the boat [was put away in the shed|became a bath], and {H} told the tale so often that the hole grew as big as a [door|cow].
They came home by moonlight, tired and muddy, and had {food} for supper.
And ever since, there has been a jar of {souvenir} on {H}'s shelf, to show that it was true.
""", heroes=[k for k in ANYONE if k not in BIRDS] + ["linnet"], weight=1.1,
     helpers=["linnet", "linnet", "tortoise", "mole", "badger", "hare", "squirrel"],
     variants=[dict(boat=b, goal=g, found=f, souvenir=s) for b in
               ["an old washtub", "a wooden bowl", "half a barrel", "a laundry basket", "a bathtub"]
               for g, f, s in [
                   ("the sea", "round the last bend they saw it, blue and wide and shining, and they said nothing for a long time.", "sand"),
                   ("the sea", "and then there was the sea, going on and on. \"Who filled it?\" asked {H}. \"Rain,\" said {K}, \"and it took ages.\"", "sea water"),
                   ("the island in the lake", "when they landed, the island sneezed. It was not an island at all, but a very large cow who was cooling her feet.", "grass"),
                   ("the island in the lake", "the island had one tree, and the tree had one apple, and they ate it turn by turn.", "apple seeds"),
                   ("the place where the river begins", "the river began under a stone, so small that {H} could cover it with one {paw}.", "pebbles"),
                   ("the great waterfall", "they heard it first, and then they saw it, white and roaring, with a rainbow standing in it.", "rainbow water"),
               ]])

# --- 16. The contest ---------------------------------------------------------------------------------------------
plot("""
Every {season} there was a fair in {V}, and this year there was a prize for {prize}.
The fair had come to {V}, and a notice on the gate said, "A prize for {prize}."

"I am good at that, or at least I could be," said {H}. "You could," said {K}, a(n) {kadj} {kkind}, and so {he} put down {his} name.
"I shall enter," said {H}. {His} friend {K}, a(n) {kadj} {kkind}, promised to [help|cheer|hold {his} coat].
{H} read the notice three times. "You should try," said {K}, a(n) {kadj} {kkind}. "What have you got to lose?" "My breath," said {H}, but {he} put down {his} name.
---
{Prepare}

? There were many others: a(n) {n1} who was very sure of winning, and a(n) {n2} who had come by mistake.
A(n) {n1} was there, and a(n) {n2}, and both of them had [combed their hair|been practising for weeks].
The {n1} had won it last year and said so, and the {n2} had come in second and did not say so.

{Contest}
---
{Win}

? "I knew you could do it," said {K}, who had been hiding behind {khis} own {kpaws}.
The {n1} was the first to shake {H}'s {paw}, and the {n2} [cried a little|asked what had happened].

They ate {food} until the lanterns were lit, and danced until they were put out.
And the prize still hangs over {H}'s bed, next to [a calendar|the spoon rack].
{H} gave the prize to {K} to look after, and {K} sleeps with it under {khis} pillow.
""", weight=1.0, variants=things("prize prepare contest win", """
the slowest runner / so {H} practised every day by setting off for the gate and not arriving. / They all began to run as slowly as they could. By noon nobody had passed the first post, and {H} had fallen asleep. / {H} was still asleep at sunset, so {he} had won, and they hung the medal on {him} very quietly.
the best hat / so {H} made a hat out of moss, two feathers, and a jam tart. / Just as the judge came by, a bee sat down on the hat, and then a butterfly, and then a whole row of ladybirds. / "That hat is alive," said the judge, and {H} won first prize, though the bee flew off with the tart.
the loudest shout / so {H} practised on the hill, and {K} practised having sore ears. / One shouted like a trumpet, and one like a barn falling down. When it was {H}'s turn, {he} was so nervous that {he} only whispered, "Hello." / But just then everybody was silent, so the whisper was heard by all, and the judge said that it was the best of the day.
the finest pie / so {H} baked a pie with everything in it that {he} liked, and {he} liked [jam|plums] best. / The judge tasted it once, and then again, and then went on until the dish was empty. "I am not certain yet," said the judge. "Is there another?" / {H} won by one crumb, which was all that was left of the pie.
the funniest face / so {H} stood before the pond and pulled faces, until the fish asked {him} to stop. / The first face made people smile, and the second made them laugh. Then {H} sneezed in the middle of {his} face, and it came out all ways at once. / They laughed until the tent fell down, and {H} won a golden [spoon|ribbon] and a box of handkerchiefs.
the longest jump / so {H} practised over puddles, from small ones up to the one with the duck in it. / When {his} turn came, {he} ran, slipped on a plum, and flew over the rope, the judge, and the tea table. / "That is further than we have a rope for," said the judge, and gave {him} the prize and a wet cloth.
"""))

# --- 17. Hiccups ----------------------------------------------------------------------------------------------------
plot("""
{When}, {H} ate {his} breakfast too fast and got the hiccups. "Hic," said {H}. "Oh dear. Hic."
{When}, {H} had the hiccups, and nobody knew why. "Hic," {he} said to the [sun|kettle], and, "Hic," to the [door|milk jug].
{When}, {H} laughed with {his} mouth full, and that is how {he} got the hiccups. "Hic," {he} said. "Hic. Hic."

? Each hiccup made {him} jump, and each jump [shook a plum from the tree|knocked {his} hat off|frightened the hens].
It is hard to be taken seriously with the hiccups, and {H} had [a speech to make|a wedding to go to|some very serious shopping to do] that day.
---
"Stand on your head," said a(n) {n1}. {H} stood on {his} head, and the hiccups came out [upside down|through {his} ears].
"Hold your breath and count to ten," said a(n) {n1}. {H} got as far as hic.
A(n) {n1} told {him} to walk three times round the well. {H} did, and so did the hiccups.

? "Drink some water backwards," said a(n) {n2}. That made {him} wet behind the ears, and no better.
"Think of a [blue cow|square egg]," said a(n) {n2}. {H} thought of it as hard as {he} could, and hiccuped twice as loudly.
---
Then {K}, a(n) {kadj} {kkind}, crept up behind {him} and [popped a paper bag|banged two lids together|sang one very high note]. {H} jumped as high as the gate. Then there was silence. The hiccups were gone.
Last of all came {K}, a(n) {kadj} {kkind}. "I will give you a [silver button|whole pie]," said {K}, "for the very next hiccup." Everyone waited. {H} tried and tried, but there was not a single hiccup left.

"Thank you," said {H}. "You are wel-hic," said {K}. "Oh dear. Hic."
"How clever you are," said {H}. "It is nothing," said the {n1}, who had done nothing.
They waited all afternoon, but the hiccups did not come back. They had gone to live with the {n2}.

-
And {H} ate {his} supper that evening one small bite at a time.
""", weight=0.9)

# --- 18. The forgotten birthday ----------------------------------------------------------------------------------------
plot("""
It was {H}'s birthday, and {he} had been [counting the days|looking forward to it] since [the last one|spring].
{When}, {H} sang a little louder than usual, for it was {his} birthday.

{He} put on {his} best [scarf|hat|waistcoat] and {went} down the lane so that everyone could wish {him} well.
---
? "Good morning," said {H} to a(n) {n1}. "Is it?" said the {n1}, and hid something behind a [bucket|bush].
"Do you know what day it is?" {he} asked a(n) {n1}. "{Day}," said the {n1}, and hurried away with a [bag of sugar|bunch of balloons].
"Anything special today?" {he} asked a(n) {n1}. "Nothing at all," said the {n1}, far too quickly.

Even {K}, {his} friend the {kkind}, shut the door in a hurry. "I am [very busy|in the bath]," called {K}, and there was [flour|paint] on {khis} nose.
Then {he} saw {K}, {his} friend the {kkind}. "I cannot stop," said {K}. "I have to see somebody about a [candle|cake, I mean a rake]."

"They have all forgotten," said {H}, and {went} home slowly, and [ate one cold potato|sat under the table].
---
But when it grew dark, there was a tap at the window. {H} looked out, and the whole garden was full of lanterns. "[Surprise|Happy birthday]!" shouted everybody.
But at six o'clock there was a knock. Outside stood all of {V} with lanterns and [a drum|a very large cake]. "[Surprise|Happy birthday]!" they shouted.

? "We thought you would guess," said {K}, "for we are very bad at secrets."
"Did you think that we had forgotten?" asked {K}. "Not for a moment," said {H}, and [blew {his} nose|smiled from ear to ear].

The {n1} had brought [a turnip with a bow on it|a song with nine verses], and {K} gave {him} a [red kite|tin whistle|warm blanket|music box], which was just what {he} had wished for.
{He} blew out the candles in one breath, and wished that next year would be [exactly the same|just as surprising].
They all had {food}, and {H} danced with the {n1}, twice.
""", weight=1.0)

# --- 19. The echo ---------------------------------------------------------------------------------------------------------
plot("""
{When}, {H} {went} to the top of the hill and shouted, "Hello!" And from far away somebody shouted, "Hello!"
{When}, {he} called across the valley, "Who is there?" And a voice called back, "Who is there?"

? "What is your name?" called {H}. "What is your name?" called the voice. "I asked first!" cried {H}. "I asked first!" cried the voice.
"Do not copy me!" shouted {H}. "Do not copy me!" shouted the voice. It was very [rude|annoying].
---
{H} ran home and told {K}, a(n) {kadj} {kkind}, that somebody [rude|very cheeky] lived on the other side of the valley.
{He} was so cross that {he} told everyone {he} met: a(n) {n1}, a(n) {n2}, and at last {K}, a(n) {kadj} {kkind}.

"That is only the echo," said {K}. "It has no words of its own, so it must borrow yours. Try giving it [better|kinder] ones."
"Did it shout first, or did you?" asked {K}. {H} thought about it. "I did," {he} said. "Then say something nicer first," said {K}.
{K} smiled. "It sounds lonely to me," said {K}. "Perhaps nobody has ever told it anything nice."
---
So {H} went back up the hill and called, "You have a lovely voice!" And the voice called back, "You have a lovely voice!" {H} [blushed|went red to the tips of {his} ears].
So {H} went back and called, "Good night, my friend!" And softly over the valley came the answer: "Good night, my friend."

Now {he} goes up every {day} to say something kind, and always [comes home smiling|gets it back].
After that, {H} was never cross with the echo again, and {he} always let it have the last word.
And when {K} had a birthday, {H} and the echo sang to {khim}, one after the other.
""", weight=0.8)

# --- 20. Snow ----------------------------------------------------------------------------------------------------------------
plot("""
The whole of {V} was white that day, for the first snow had come in the night.
When {H} opened the door that day, the lane was gone. There was only snow, [as soft as flour|up to {his} chin].
That day the snow came down so thickly that {V} lost all its corners.

{H} and {his} friend {K}, a(n) {kadj} {kkind}, made a snowman with [a carrot|a parsnip|a fir cone] for a nose and {K}'s best hat on its head.
{H} called for {K}, a(n) {kadj} {kkind}, and together they made a snowman as tall as a door, with two coals for eyes.
{H} ran out to play with {K}, a(n) {kadj} {kkind}. They rolled one big ball, one middling ball, and one ball that kept rolling, and soon they had a snowman.
---
All day they [danced round it|told it stories]. But when evening came, {H} was worried. "It will be cold out here all night," {he} said.
But in the evening {H} looked out of the window. "The poor snowman is all alone," {he} said.

"Let us bring it in by the fire," said {H}. {K} coughed. "I do not think it would thank you," said {K}. "It likes the cold as you like soup."
So {he} took out a blanket and a bowl of hot soup. "[Stop|Wait]!" cried {K}. "Cold is what a snowman likes best."
---
So they made it a [wife|friend|dog] out of snow instead, and gave it a [scarf|pipe] so as not to be unfair.
So they gave it a bowl of [ice|frozen peas] for supper, and wished it a very chilly night.

In spring there was nothing left but [a carrot|a hat] and a puddle. "It has gone north," said {K}, "and it was very [happy|pleased with you]."
In the morning the snowman seemed to be smiling a little more, and a(n) {n1} had eaten its nose.
When spring came it slipped away without saying goodbye, but where it had stood the first [snowdrops|primroses] came up.

-
"Next winter," said {H}, "we shall make two." And they did.
""", heroes=[k for k in ANYONE if k not in ("tortoise", "frog", "duckling")], weight=0.7, season="winter")

# --- 21. The sleepless night --------------------------------------------------------------
plot("""
But one night {H} could not sleep. {He} lay on one side, and on the other side, and upside down.
One {season} night {H} lay awake. The bed was too [warm|wide|lumpy], and the night was too [long|quiet|dark].

{He} counted sheep. At the ninth, a real sheep put its head in at the window and asked to be left out of it.
{He} counted sheep, but they would not stand still, and two of them were goats.
---
"Drink some warm milk," said a(n) {n1}, who had come to see why the candle was lit. {H} drank it, and then {he} was awake and full.
{He} got up and asked a(n) {n1} what to do. "I just close my eyes," said the {n1}, and began to snore at once.

? "Try a heavier blanket," said a(n) {n2}, and lay down on {him}. That did not help at all.
{He} went for a walk round the garden, but it only woke {his} feet.

Then {K}, a(n) {kadj} {kkind}, sat down beside the bed. "What are you thinking about?" asked {K}. "Tomorrow," said {H}. "Tomorrow can look after itself," said {K}, and began to hum.
At last {he} went to {K}, a(n) {kadj} {kkind}, who was looking at the stars. "You need not sleep," said {K}. "Only lie here and listen." And {K} began a long, slow song.
---
It was a song about [rain on a roof|a boat on a lake|a field of barley], and it had no end. {H} never heard the second verse.
{K} sang very softly, and by the third line {H} was asleep, and so was the {n1}, and so was the whole of {V}.

In the morning {H} said, "I did not sleep a wink," and was most surprised to find the sun so high.
And ever since, when {H} cannot sleep, {he} hums that song, and so far nobody has found out how it ends.
"Thank you," said {H} in the morning, but {K} was fast asleep.
""", weight=1.0)

# --- 22. The long scarf --------------------------------------------------------------------
plot("""
{When}, {he} learned to knit, and began a [red|yellow|blue] scarf for {his} friend {K} the {kkind}. Nobody had told {him} how to stop.
{His} friend {K} the {kkind} was always cold, so {when} {H} began to knit {khim} a [red|yellow|blue] scarf. The only trouble was that {he} did not know how to finish it.

The scarf grew out of the door, down the steps, and [across the garden|as far as the well].
By {day} the scarf was as long as the lane, and {H} was still knitting.
---
"That is a scarf for a [snake|river]," said a(n) {n1}. "Or for [forty geese|a very long cow]," said a(n) {n2}, and they laughed until they had to hold each other up.
A(n) {n1} tripped over it, and a(n) {n2} asked if it was a new road.

Then one evening the fog came down, so thick that {K}, who was out on the hill, could not see {khis} own {kpaws}. {Khe} was quite lost.
Then the snow came, and {K} was out on the hill and could not find the path. All was white, above and below.
---
But {K} felt something soft in the grass. It was the end of the scarf. {Khe} followed it over the hill, past the mill, and right up to {H}'s door.
But just then {khe} stumbled over something warm and woolly. {Khe} took hold of it and walked along it, stitch by stitch, until {khe} came to {H}, who was still knitting.

"It is a little too long," said {H}. "It is exactly long enough," said {K}.
"I am sorry that it is not finished," said {H}. "Please never finish it," said {K}.

? And so they sat down to {food}, with the scarf wrapped round them both, eleven times.
And now all of {V} wears that scarf in winter, everyone at the same time.
""", heroes=[k for k in ANYONE if k not in ("tortoise", "owl")], weight=1.1, season="autumn",
     helpers=["linnet", "linnet", "mole", "hare", "squirrel", "tortoise", "badger", "otter", "hedgehog"])

SPOTS = ["under the stone bridge", "behind the mill", "beside the old well", "by the mossy gate",
         "at the foot of the haystack", "in the middle of the cabbage patch", "beneath the blackberry bush",
         "on the far side of the pond", "at the edge of the wood"]

# --------------------------------------------------------------------------------------
# The storyteller
# --------------------------------------------------------------------------------------

ENOUGH_WORDS = 135

_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_KEY = re.compile(r"\{(\w+)\}")
_ARTICLE = re.compile(r"\b([Aa])\(n\) (\w+)")


def weighted(rng, items, weight):
    return rng.choices(items, [weight(i) for i in items])[0]


def pick(rng, items):
    """Any of the items, the earlier ones a little more often (a storyteller has favourites)."""
    return rng.choices(items, [0.8 ** min(i, 8) for i in range(len(items))])[0]


def name_for(rng, kind, female, taken):
    """A name that nobody else in the tale has.  The linnet of these tales is often called Pip."""
    if kind == "linnet" and not female and "Pip" not in taken and rng.random() < 0.4:
        name = "Pip"
    else:
        name = pick(rng, [n for n in (GIRLS if female else BOYS) if n not in taken])
    taken.append(name)
    return name


def tell(text, cast, rng):
    """Expand one line of the grammar for the given cast."""
    for _ in range(12):
        before = text
        while True:
            found = _CHOICE.search(text)
            if not found:
                break
            text = text[:found.start()] + pick(rng, found.group(1).split("|")) + text[found.end():]

        def value(match):
            key = match.group(1)
            if key in cast:
                return cast[key]
            # {Key}: the text of {key} with a capital letter, once it is fully told.
            told = tell(cast[key[0].lower() + key[1:]], cast, rng)
            return told[0].upper() + told[1:]

        text = _KEY.sub(value, text)
        if text == before:
            break
    return text


def articles(text):
    def fix(match):
        word = match.group(2).lower()
        an = word[0] in "aeiou" and not word.startswith(("one", "uni", "use"))
        return match.group(1) + ("n " if an else " ") + match.group(2)
    return _ARTICLE.sub(fix, text)


def tell_tale(rng):
    """One whole tale: short enough, or else the shortest of a few tellings."""
    story = weighted(rng, PLOTS, lambda p: p["weight"])
    tellings = []
    while len(tellings) < 5:
        tale = tell_plot(story, rng)
        assert not re.search(r"[\[\]{}|]|\(n\)|[.?!,] ?\?|  ", tale), tale
        if len(tale.split()) <= ENOUGH_WORDS:
            return tale
        tellings.append(tale)
    return min(tellings, key=lambda tale: len(tale.split()))


def tell_plot(story, rng):
    """A tale of the given plot, with a cast chosen for it."""
    kind = weighted(rng, story["heroes"], lambda k: HERO_WEIGHT.get(k, 1.0))
    group, ways, limb, limbs, homes = KINDS[kind]
    female = {"girl": True, "boy": False}.get(kind, rng.random() < 0.5)
    taken = []
    hero_name = name_for(rng, kind, female, taken)

    helper = weighted(rng, [k for k in story["helpers"] if k != kind],
                      lambda k: 8.0 if k == "linnet" else 1.0)
    hfemale = {"fisherman": False}.get(helper, rng.random() < 0.5)
    helper_name = name_for(rng, helper, hfemale, taken)
    friend_kind = rng.choice([k for k in ("hare", "mouse", "frog", "squirrel", "robin", "hedgehog", "rabbit", "fox")
                              if k not in (kind, helper)])
    friend_name = name_for(rng, friend_kind, rng.random() < 0.5, taken)

    season = story["season"] or rng.choice(list(SEASONS))
    home = pick(rng, homes)
    if "|" in home:
        home = home.split("|")[0 if female else 1]
    passers = []
    while len(passers) < 3:
        passers.append(pick(rng, [p for p in PASSERS if p not in passers]))
    helper_limb = "wing" if HELPER_GROUP.get(helper) else (
        "hand" if helper in ("gardener", "miller", "fisherman") else "foot" if helper == "tortoise" else "paw")
    adj = weighted(rng, [a for a in TRAITS if a not in story["never"]], lambda a: ADJ_WEIGHT.get(a, 1.0))

    cast = dict(
        H=hero_name, kind=kind, adj=adj, home=home, paw=limb, paws=PLURAL[limb], limbs=limbs,
        nose="beak" if group == "bird" or kind == "duckling" else "nose",
        went=pick(rng, ways.split()),
        K=helper_name, kkind=helper, kadj=pick(rng, HELPER_ADJ), kpaw=helper_limb, kpaws=PLURAL[helper_limb],
        paw1="paw" if limb == helper_limb == "paw" else "wing" if limb == helper_limb == "wing" else "sleeve",
        F=friend_name, fkind=friend_kind,
        n1=passers[0], n2=passers[1], n1b=passers[2], n0=pick(rng, "six nine twelve seven".split()),
        V=pick(rng, VILLAGES), tree=pick(rng, TREES), day=pick(rng, DAYS), food=pick(rng, FOODS),
        spot=pick(rng, SPOTS), season=season, tadj=pick(rng, SEASONS[season]),
    )
    cast.update(zip("he him his himself".split(), "she her her herself".split() if female else "he him his himself".split()))
    cast.update(zip("khe khim khis".split(), "she her her".split() if hfemale else "he him his".split()))
    cast.update(rng.choice(story["variants"]))
    for key in ("home", "season"):
        cast[key] = tell(cast[key], cast, rng)

    _, opening, timed = weighted(rng, OPENINGS, lambda o: o[0])
    cast["woke"] = pick(rng, WOKE)
    when = tell(pick(rng, WHEN_OLD if timed else WHEN_NEW), cast, rng)
    cast["when"] = when[0].lower() + when[1:] if not when.startswith(tuple(DAYS)) else when
    cast["when2"] = "that night" if timed else pick(rng, ["one night", "one clear night"])

    paragraphs = []
    for number, steps in enumerate(story["paragraphs"]):
        lines = []
        if number == 0:
            lines.append(opening)
            if rng.random() < 0.35:
                lines.append(pick(rng, TRAITS[adj].strip().split("\n")))
        lines += [pick(rng, step) for optional, step in steps if not optional or rng.random() < 0.25]
        if number == len(story["paragraphs"]) - 1 and rng.random() < 0.15:
            lines.append(pick(rng, GOODBYES))
        told = [tell(line, cast, rng) for line in lines if line != "-"]
        paragraphs.append(articles(" ".join(told)))
    return "\n\n".join(paragraphs)


def tell_tales(count, seed):
    rng = random.Random(seed)
    seen, tales = set(), []
    while len(tales) < count:
        tale = tell_tale(rng)
        if tale not in seen:
            seen.add(tale)
            tales.append(tale)
    return tales


if __name__ == "__main__":
    for told in tell_tales(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(told, end="\n\n* * *\n\n")
