/* The life of one delivery key: claim, call, settle, outbox, dead letter, ack; with redelivery, lost
   answers, crashes, leases that run out and a ledger that is lost. README.md says what corresponds
   to what in the code and how to read a counterexample; `run` checks it in several sizes.

   Each -DNO_... takes one rule away. The model must then break the law that README.md names. */

#ifndef WORKERS
#define WORKERS 2 /* deliveries at work at once, in whatever incarnations live */
#endif
#ifndef MESSAGES
#define MESSAGES 1 /* two: a duplicate with its own ack */
#endif
#ifndef CRASHES
#define CRASHES 0 /* an incarnation dies, at any moment */
#endif
#ifndef STEALS
#define STEALS 0 /* a lease runs out while its holder lives: at any moment, to another incarnation */
#endif
#ifndef LOSSES
#define LOSSES 0 /* the ledger is lost and a new one adopted */
#endif
#ifndef PURGES
#define PURGES 0 /* a message vanishes from the stream */
#endif
#ifndef FORGOTTEN_ACKS
#define FORGOTTEN_ACKS 0 /* the server forgets an ack, or never got it */
#endif
#ifndef COMMIT_ERRORS
#define COMMIT_ERRORS 0 /* a commit is applied and its reply is lost */
#endif
#ifndef UNSENT
#define UNSENT 0 /* the transport proves that nothing left; a claim is given back */
#endif
#ifndef TRIES
#define TRIES 2 /* retry.attempts */
#endif
#ifndef FORGETS
#define FORGETS 0 /* the row is forgotten when its retention is over */
#endif

/* ledger/row.hpp */
#define ABSENT 0
#define CLAIMED 1
#define WAITING 2
#define ACCEPTED 3
#define FAILED 4
#define UNKNOWN 5
#define SUPPRESSED 6

#define NOT_SENT 0
#define MAYBE_SENT 1
#define SENT 2

#define NONE 0
#define DUE 1
#define DONE 2
#define LOST 3

/* Replies of the ledger (CLAIMED is one, too). */
#define DONE_REPLY 2
#define BUSY_REPLY 3
#define DUE_REPLY 4
#define CONFLICT_REPLY 5
#define ERROR_REPLY 6
#define FENCED_REPLY 7
#define WAITING_REPLY 8

/* Verdicts, by what matters here: effect, and what is to be done. */
#define PROVEN_UNSENT 1 /* by the transport, or a claim given back */
#define RETRYABLE 2     /* the provider said: not now */
#define REQUEST 3       /* the payload is at fault */
#define DEVICE 4        /* the token is */
#define NO_ANSWER 5     /* or one that settles nothing */
#define RECEIPTLESS 6   /* a 2xx without its receipt */
#define RECEIPT 7
#ifdef NO_RECEIPT_NEEDED
#define effect_of(v) (v >= RECEIPTLESS -> SENT : (v == NO_ANSWER -> MAYBE_SENT : NOT_SENT))
#else
#define effect_of(v) (v == RECEIPT -> SENT : (v >= NO_ANSWER -> MAYBE_SENT : NOT_SENT))
#endif

/* The row: what is durable. */
unsigned state : 3 = ABSENT;
unsigned effect : 2 = NOT_SENT;
unsigned fence : 4;        /* of the latest claim */
unsigned row_life : 3;     /* the incarnation that claimed last */
unsigned row_ticket : 3;   /* and its delivery */
unsigned attempts : 3;
unsigned dead_letter : 2;
unsigned revision : 4;
unsigned row_content : 1;
bool receipt_missing;      /* a 2xx came without its receipt */
byte settled_fences;       /* Row::receipts: bit f is set when fence f has said what it knows */
byte outbox;               /* bit r: the event of revision r waits to be published */
bool adopted;              /* of a ledger that followed a lost one */

/* The world. */
unsigned life : 3 = 1;     /* the newest incarnation */
byte dead_lives = 1;       /* bit i: incarnation i is dead; there is no incarnation 0 */
bool acked[MESSAGES];
bool expired;              /* the deadline has passed */
byte published;            /* bit r: the outcome stream has the event of revision r */
bool copied;               /* the dead-letter stream has the copy */
bool conflict_copied[MESSAGES];
unsigned crashes : 2;
unsigned steals : 2;
unsigned losses : 1;
unsigned purges : 1;
unsigned forgotten_acks : 1;
unsigned commit_errors : 1;
unsigned unsent : 1;
unsigned forgets : 1;
unsigned holders : 2;      /* workers that have the message in hand */

/* What only the checks know. */
unsigned copies : 2;       /* that the provider has taken; two stands for more */
bool receipt_given;        /* the provider has answered with its receipt */
bool receipt_stored;       /* and the ledger has been told */
bool doubt;                /* something has happened after which nobody can know */
byte emitted;              /* bit r: revision r owes an event */

/* The laws, as names that spin reports: "assertion violated law_3_ack_last". */
hidden byte law_1_copies_known = 1;
hidden byte law_2_one_claimant = 1;
hidden byte law_3_ack_last = 1;
hidden byte law_4_effect_rises = 1;
hidden byte law_4_ended_stays_ended = 1;
hidden byte law_4_receipt_ends_it = 1;
hidden byte law_4_receipt_stops_attempts = 1;
hidden byte law_6_at_most_once = 1;
hidden byte law_6_receiptless_not_resent = 1;
hidden byte law_6_refusal_is_true = 1;
hidden byte law_6_unknown_explained = 1;
hidden byte law_9_nothing_stuck = 1;
hidden byte law_10_conflict_told = 1;
hidden byte law_12_never_late = 1;
hidden byte law_14_acceptance_is_true = 1;
hidden byte law_14_dead_letter_told = 1;
hidden byte law_14_events_told = 1;
hidden byte model_large_enough = 1;
hidden byte state_before;
hidden byte effect_before;

/* -DONLY=law_... checks that one alone. */
#ifdef ONLY
#define LAW(law, holds) law = (holds); assert(ONLY)
#else
#define LAW(law, holds) law = (holds); assert(law)
#endif
#define ended(s) (s >= ACCEPTED)
#define dead(l) (((dead_lives >> l) & 1) == 1)
#define raise(to) effect = (effect < to -> to : effect)
#define count_attempt() attempts = (attempts < TRIES -> attempts + 1 : attempts)
#ifdef CONFLICT
#define content_of(m) m
#else
#define content_of(m) 0
#endif

#include "rules.pml"

/* ---- the transport and the provider ---------------------------------------------------------- */

inline take_copy() {
  copies = (copies < 2 -> copies + 1 : copies);
#ifndef RESEND
  LAW(law_6_at_most_once, copies <= 1);
#endif
  taken = true
}

/* The first byte is passed to a write call; the provider acts on it at once or never. */
inline offer() {
  /* Robbed in between by another incarnation, perhaps; never by another delivery of our own. */
  LAW(law_2_one_claimant, !(of_this_life && fence == mine + 1));
  LAW(law_12_never_late, !expired);
#ifdef RESEND
  LAW(law_6_receiptless_not_resent, !was_receiptless);
#endif
  if
  :: take_copy()
  :: taken = false
  fi
}

inline call() {
  if
#ifdef NO_LAST_LOOK_AT_THE_CLOCK
  :: offer()
#else
  :: expired -> verdict = PROVEN_UNSENT
  :: !expired -> offer()
#endif
  :: unsent < UNSENT -> unsent++; verdict = PROVEN_UNSENT
  fi
}

inline hear() {
  if
  :: taken -> verdict = RECEIPT; receipt_given = true
  :: !taken -> verdict = RETRYABLE
  :: !taken -> verdict = REQUEST
  :: !taken -> verdict = DEVICE
  :: verdict = NO_ANSWER; doubt = true
  :: verdict = RECEIPTLESS; doubt = true
  fi
}

/* ---- pipeline/engine*.cpp: one delivery of one message in one incarnation -------------------- */

#if MESSAGES > 1
#define all_acked (acked[0] && acked[1])
#else
#define all_acked acked[0]
#endif

inline fetch() { /* any message that is not acked, as often as the broker likes */
  if
  :: !acked[0] -> m = 0
#if MESSAGES > 1
  :: !acked[1] -> m = 1
#endif
  fi;
  if
  :: my_life = life
  :: !dead((life - 1)) -> my_life = life - 1 /* it does not know that there is another */
  fi;
  holders++
}

/* Nothing of it is remembered but by the ledger. */
inline forget_delivery() {
  m = 0; my_life = 0; mine = 0; carried = 0; tries = 0; reply = 0; verdict = 0; want = 0;
  was_receiptless = false; taken = false; attempted = false; counted = false; owes_copy = false;
  fenced = false; refused = false; final = 0;
  holders--
}

inline claim() {
  if :: refused = true :: refused = false fi;
  if
#ifdef NO_FAIL_CLOSED
  :: commit_errors < COMMIT_ERRORS -> /* nothing was stored, and on it goes */
     commit_errors++; reply = CLAIMED; mine = fence + 1; carried = effect; tries = attempts
#endif
  :: decide_claim()
  :: commit_errors < COMMIT_ERRORS -> commit_errors++; decide_claim(); reply = ERROR_REPLY
  fi;
  refused = false
}

inline settle() {
  decide_settle();
  if
  :: reply = (fenced -> FENCED_REPLY : (state == WAITING -> WAITING_REPLY :
             (dead_letter == DUE -> DUE_REPLY : DONE_REPLY)))
  :: commit_errors < COMMIT_ERRORS -> commit_errors++; reply = ERROR_REPLY
  fi;
  final = 0; fenced = false
}

inline ack() {
  LAW(law_3_ack_last, row_content != content_of(m) || (ended(state) && dead_letter != DUE));
  LAW(law_10_conflict_told, row_content == content_of(m) || conflict_copied[m]);
  acked[m] = true
}

/* Whether the answer would still be "busy". */
#ifdef NO_REPEATED_CLAIM
#define blocked (state == CLAIMED && (of_this_life || !may_take_over))
#else
#define blocked (state == CLAIMED && (of_this_life -> row_ticket != me : !may_take_over))
#endif

active [WORKERS] proctype worker() {
  byte m, my_life, mine, carried, tries, reply, verdict, want, final;
  byte me = _pid + 1; /* the ticket: a worker has one delivery at a time */
  bool was_receiptless, taken, attempted, counted, owes_copy, fenced, refused;
end_idle:
  do
  :: atomic { fetch() };
     {
       skip;
ask:
#ifdef NO_CLAIM_FIRST
       atomic { if :: state == ABSENT -> take_copy() :: else fi };
#endif
       atomic { claim() };
#ifdef NO_EVENT_IN_COMMIT
       outbox = outbox | (emitted & ~published);
#endif
       if
       :: reply == ERROR_REPLY -> goto ask
       :: reply == BUSY_REPLY -> !blocked; goto ask
       :: reply == DUE_REPLY -> goto copy
       :: reply == DONE_REPLY -> goto confirm
       :: reply == CONFLICT_REPLY -> conflict_copied[m] = true; goto confirm
       :: reply == CLAIMED
       fi;
#ifdef NO_ACK_LAST
       atomic { ack() };
#endif
       atomic {
         if
         :: proceeds -> call()
         :: !proceeds -> want = UNKNOWN; attempted = false; goto record
         fi;
         if
         :: verdict == PROVEN_UNSENT -> decide(); goto record
         :: else
         fi
       };
       atomic { hear(); taken = false; decide() };
record:
       atomic { settle() };
#ifdef NO_EVENT_IN_COMMIT
       outbox = outbox | (emitted & ~published);
#endif
       if
       :: reply == ERROR_REPLY -> goto record
#ifdef NO_FENCE_FOR_ACKS
       :: reply == FENCED_REPLY -> goto confirm
#endif
       :: reply == FENCED_REPLY || reply == WAITING_REPLY -> goto again
       :: reply == DUE_REPLY -> goto copy
       :: reply == DONE_REPLY -> goto confirm
       fi;
again: /* waits here, or hands the message back */
       atomic {
         mine = 0; carried = 0; tries = 0; reply = 0; verdict = 0; want = 0;
         was_receiptless = false; attempted = false; counted = false; owes_copy = false;
         if :: goto ask :: goto handed_back fi
       };
copy:
#ifdef NO_COPY_CONFIRMED
       decide_dead_letter_done(); copied = true;
#else
       copied = true; decide_dead_letter_done();
#endif
confirm:
       atomic { ack() };
handed_back:
       skip
     } unless { dead(my_life) };
     atomic { forget_delivery() }
  od
}

/* ---- the outbox, the reaper, and what befalls them -------------------------------------------- */

#define first_of(mask) ((mask) & -(mask))

/* A confirmation that is lost is an entry that is published once more, under the same id. */
active proctype outbox_publisher() {
end_idle:
  do
  :: atomic { (outbox & ~published) != 0 -> published = published | first_of(outbox & ~published) }
#ifdef NO_OUTBOX_CONFIRMED
  :: atomic { outbox != 0 -> outbox = outbox & ~first_of(outbox) }
#else
  :: atomic { (outbox & published) != 0 -> outbox = outbox & ~first_of(outbox & published) }
#endif
  od
}

#define another_lives (row_life != life || !dead((life - 1)))

inline forget_row() {
  state = ABSENT; effect = NOT_SENT; attempts = 0; dead_letter = NONE; row_ticket = 0; row_life = 0;
  receipt_missing = false; settled_fences = 0; receipt_stored = false
}

active proctype reaper() {
end_idle:
  do
#ifndef NO_REAPER
  :: atomic { expired && state == WAITING -> sweep_open_row() }
  :: atomic { expired && state == CLAIMED && dead(row_life) -> sweep_open_row() }
  :: atomic { expired && state == CLAIMED && !dead(row_life) && another_lives && steals < STEALS ->
              steals++; sweep_open_row() }
  :: atomic { dead_letter == DUE -> begin_write(); dead_letter = LOST; emit(); check_row() }
#endif
#ifdef NO_MEMORY
  :: atomic { forgets < FORGETS && ended(state) && dead_letter != DUE -> forgets++; forget_row() }
#else
  :: atomic { forgets < FORGETS && ended(state) && dead_letter != DUE && expired && all_acked &&
              forgotten_acks == FORGOTTEN_ACKS && holders == 0 -> forgets++; forget_row() }
#endif
  od
}

active proctype deadline() {
  expired = true
}

inline lose_ledger() {
  forget_row();
  fence = 0; revision = 0; outbox = 0; emitted = 0; published = 0;
  adopted = true
}

active proctype fate() {
  do
  :: atomic { crashes < CRASHES ->
              crashes++; doubt = true; dead_lives = dead_lives | (1 << life); life++ }
  :: atomic { crashes < CRASHES && !dead((life - 1)) ->
              crashes++; doubt = true; dead_lives = dead_lives | (1 << (life - 1)) }
  :: atomic { steals < STEALS && dead((life - 1)) -> life++ } /* and the older one lives on */
  :: atomic { losses < LOSSES ->
              losses++; doubt = true; dead_lives = dead_lives | ((1 << (life + 1)) - 1); life++;
              lose_ledger() }
  :: atomic { purges < PURGES && !acked[0] -> purges++; acked[0] = true }
  :: atomic { forgotten_acks < FORGOTTEN_ACKS && acked[0] -> forgotten_acks++; acked[0] = false }
  :: break
  od
}

/* When nothing can happen any more: what must have happened. */
active proctype judge() {
  timeout;
  LAW(law_9_nothing_stuck,
      all_acked && (state == ABSENT || ended(state)) && dead_letter != DUE && outbox == 0);
  LAW(law_4_receipt_ends_it, !receipt_stored || state == ACCEPTED);
  LAW(law_14_dead_letter_told, dead_letter != DONE || copied);
  LAW(law_14_events_told, (emitted & ~published) == 0)
}
