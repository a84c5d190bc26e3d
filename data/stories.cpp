#include "gradus/data/stories.hpp"

#include "gradus/data/grammar.hpp"

namespace gradus::data {
namespace {

constexpr std::string_view kRules = R"(
hero = Ada | Bruno | Clara | Dario | Elsa | Felix | Greta | Hugo | Ines | Jonas | Kira | Leo | Mina | Nils
     | Olga | Pablo | Rosa | Sven | Tilda | Victor
he   = she | he | she | he | she | he | she | he | she | he | she | he | she | he | she | he | she | he
     | she | he
his  = her | his | her | his | her | his | her | his | her | his | her | his | her | his | her | his | her
     | his | her | his
him  = her | him | her | him | her | him | her | him | her | him | her | him | her | him | her | him | her
     | him | her | him

trade = baker | carpenter | fisher | gardener | potter | shepherd | tailor | miller | clockmaker | beekeeper
      | painter | lamplighter
home  = a lighthouse on the cliff | a mill by the river | a cottage under the oak | a house with a red door
      | a hut at the edge of the wood | a tower without stairs | a boat in the harbour
      | a room above the bakery | a barn full of swallows | a cave behind the waterfall
habit = sang to the moon | counted the stars | talked to the geese | baked round loaves
      | whistled while walking | collected smooth stones | wrote letters to the sea | never wore shoes
      | slept with an open window | drank tea at noon

weather = 4:rainy | 4:windy | 3:sunny | 3:foggy | 2:snowy | 2:frosty | stormy | warm
sky     = The rain drummed on every roof. | The wind shook the apple trees.
        | The sun lay on the hills like honey. | The fog hid even the nearest fence.
        | The snow fell without a sound. | The frost had drawn ferns on every pane.
        | The thunder rolled from hill to hill. | The bees hummed in the clover.
later   = the rain had stopped | the wind had gone to sleep | the sun had set behind the hills
        | the fog had lifted | the snow lay deep and blue | the frost had come back to the panes
        | the storm had blown itself out | the bees had gone home
daytime = 4:morning | 3:afternoon | 2:evening | day | night

made   = silver | golden | wooden | rusty | tiny | blue | striped | cracked | polished | forgotten | crooked
       | velvet
thing  = bell | key | lantern | whistle | compass | kite | umbrella | teapot | mirror | drum | map | feather
       | ladder | blanket | violin | basket
help   = rang it until the whole village came running
       | unlocked the little door in the hill, where help was waiting | lit the long way through the dark
       | blew it three times, and the echo brought an answer | followed its needle to the right place
       | sent it up so high that everybody saw the sign | opened it and sailed across the pond
       | poured a cup for everyone, and soon they all had good ideas
       | caught a sunbeam in it and sent the light ahead | beat it so loudly that the trouble ran away
       | read it upside down, and then all was clear
       | tickled the sleeping giant, who sneezed the trouble away
       | leaned it against the sky and looked down from the top
       | spread it out, and it was just large enough | played an old tune on it until the stones wept
       | filled it with berries for the birds, who showed the way
place  = under the bridge | beside the well | in a hollow tree | behind the church | on the beach
       | at the crossroads | among the reeds | between two rocks | below the stairs | near the market
       | inside an empty barrel | far from any road | on the windowsill | at the foot of the hill
       | where the nettles grow | close to the ferry
letter = A | B | E | G | K | M | O | R | S | T | W | Z
mark   = with a star on it | from a far country | that smelled of smoke | without a scratch
       | wrapped in leaves | as old as the hills | no bigger than a plum | marked with the letter {letter}
found  = found | discovered | stumbled upon | picked up | noticed | dug up

temper   = small | grumpy | young | lonely | polite | muddy | sleepy | famous | shy | proud | ragged
         | cheerless | wet | very old
creature = fox | owl | hedgehog | badger | heron | mouse | goat | frog | raven | otter | snail | donkey
said     = barked | hooted | snuffled | growled | croaked | squeaked | bleated | burped | cawed | chirped
         | whispered | brayed
went     = trotted | flew | rolled | shuffled | stalked | scurried | skipped | hopped | flapped | slid
         | crept | plodded
nick     = Pip | Moss | Biscuit | Nutmeg | Thimble | Button | Clover | Pepper | Juniper | Wick | Fennel
         | Dumpling
mood     = weeping | shivering | muttering | staring into the water | walking in circles | sighing
plea     = Please help me, | What shall I do? | I have looked everywhere, | Nobody listens to me,
         | Oh, the misery! | Will you come with me?
lost     = way home | supper | favourite hat | sister | courage | song | winter coat | tail ribbon
         | left shoe | breakfast | map of the world | good manners | only umbrella | birthday cake
         | wooden leg | patience
kin      = grandmother | uncle | neighbour | teacher | brother | cousin
answer   = Do not worry | We shall see | Let me think | Leave it to me | I know that feeling
         | Two heads are better than one | Such things happen | Do sit down | There is always a way
         | My {kin} would know

hour    = three | four | six | seven | nine | ten
whither = to the sea | into the woods | round and round the hill | back to where they began
soup    = leeks | turnips | barley | acorns | beans | cabbages | mushrooms | pumpkin
relish  = thyme | pepper | honey | old cheese
raft    = reeds | barrels | three doors | willow twigs
fool    = mayor | miller's wife | goose | ferryman | schoolmaster
attempt = asked the fish in the pond | looked under every stone | climbed the tallest pine
        | drew a plan in the sand | knocked at the door of the {fool} | waited until the clock struck {hour}
        | shouted down the well | followed the tracks {whither} | made a soup of {soup} and {relish}
        | built a raft of {raft}
failure = nothing came of it | that only made things worse | it began to hail | everybody laughed at them
        | they both fell asleep | after {hour} days they gave up | the {fool} would not hear of it

care = great care | trembling hands | a deep breath | a wink
turn = Quickly {he@hero} {help@thing}. | With {care} {he@hero} {help@thing}.
     | "Why not!" cried {@nick}, and {@hero} {help@thing}.
rest = After that {he@hero} {attempt}, but {failure}. Then {he@hero} thought of the {@thing}. {turn}
     | 2:Then {he@hero} thought of the {@thing}. {turn}
     | In the end they sat down {place}, and {@hero} took out the {@made} {@thing}. {turn}

passer   = child | pedlar | fiddler | sailor | widow | beggar
receiver = 3:dear {@nick} | the {@creature} | a passing {passer} | an old {kin} of the {@creature}
moral    = Small things are not small. | What is given away is never lost. | A friend is worth a long walk.
         | Those who look will find. | Nobody is too little to help. | Even a bad day has an evening.
         | Kindness has long legs. | The way home is the shortest. | A shared loaf tastes of more.
         | Listen to the little ones. | Better a late friend than none.
         | Nothing is lost that is looked for together.

opening = 3:Once there was a {trade} named {hero}, who lived in {home} and {habit}.
        | 2:In {home} lived {hero} the {trade}, who {habit}.
        | Long ago a {trade} came to live in {home}. The name of this {@trade} was {hero}, and {he@hero}
          {habit}.
        | Have you heard of {hero}? This {trade} lived in {home} and {habit}.
        | People still speak of {hero}, the {trade} who {habit}.
finding = 2:One {weather} {daytime} {@hero} {found} a {made} {thing} {mark}. It lay {place}. {sky@weather}
        | It was a {weather} {daytime}. {sky@weather} And {place}, of all places, {@hero} {found} a {made}
          {thing} {mark}.
meeting = Not far off a {temper} {creature} named {nick} was {mood}. "{plea}" {said@creature} the
          {@creature}. "I have lost my {lost}."
        | Then a {temper} {creature} {went@creature} up to {him@hero}, {mood}. "{plea}" {said@creature} the
          {@creature}, whose name was {nick}. "Gone is my {lost}!"
trying  = "{answer}," said {@hero}, and {he@hero} {attempt}, but {failure}. {rest}
closing = They were friends from that day on, and {@hero} still {@habit}.
        | Then {@nick} {went@creature} home, and {@hero} went back to {his@hero} work. {moral}
        | As they say in those parts: {moral}
        | If you meet {him@hero} on a {@weather} {@daytime}, ask {him@hero} about the {@thing}.
ending  = By then {later@weather}, and there was the {@lost}! {@hero} gave the {@made} {@thing} to
          {receiver}. {closing}
story   = {opening} {finding} {meeting} {trying} {ending}\n\n
)";

const Grammar& grammar() {
  static const Grammar stories(kRules);
  return stories;
}

}  // namespace

std::string write_stories(uint64_t seed, size_t min_bytes) {
  Generator generator(seed);
  std::string text;
  text.reserve(min_bytes + 4096);
  while (text.size() < min_bytes) text += grammar().write(generator);
  return text;
}

double stories_entropy() { return grammar().entropy() / grammar().mean_size(); }

double stories_nats(std::string_view text) { return grammar().nats(text); }

std::string_view stories_rules() { return kRules; }

}  // namespace gradus::data
