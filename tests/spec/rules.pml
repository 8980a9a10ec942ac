/* The rules of claim.pml, in the order and with the names of the code: ledger/rules.cpp, and what
   plugin/pipeline/policy.cpp makes of a verdict. Each reads and writes the globals of claim.pml and
   the locals of a worker. */

/* ---- ledger/rules.cpp: each rule runs inside one commit ------------------------------------- */

inline begin_write() {
  state_before = state;
  effect_before = effect
}

/* Everything that must hold of a row, after each write. */
inline check_row() {
  LAW(law_4_effect_rises, effect >= effect_before);
  LAW(law_4_ended_stays_ended,
      !ended(state_before) || state == state_before || state == ACCEPTED);
  LAW(law_6_refusal_is_true,
      !(state == FAILED || state == SUPPRESSED) || (effect == NOT_SENT && copies == 0));
  LAW(law_6_unknown_explained, state != UNKNOWN || doubt);
  LAW(law_14_acceptance_is_true, state != ACCEPTED || receipt_given)
}

inline emit() { /* the row's new revision and its event, in the commit of the row */
  revision++;
  LAW(model_large_enough, revision < 8);
  emitted = emitted | (1 << revision);
#ifndef NO_EVENT_IN_COMMIT
  outbox = outbox | (1 << revision)
#endif
}

inline end_row(how) {
  state = how;
  row_ticket = 0;
  emit()
}

inline ending_without_attempt() {
#ifdef NO_DOUBT_AT_THE_END
  end_row((effect == SENT -> ACCEPTED : SUPPRESSED))
#else
  end_row((effect == SENT -> ACCEPTED : (effect == MAYBE_SENT -> UNKNOWN : SUPPRESSED)))
#endif
}

inline take_claim() {
  LAW(law_4_receipt_stops_attempts, effect != SENT);
  /* Whoever may call now knows of every copy there may be. */
  LAW(law_1_copies_known, copies == 0 || effect >= MAYBE_SENT);
  LAW(model_large_enough, fence < 7);
  fence++;
  state = CLAIMED;
  row_life = my_life;
  row_ticket = me;
  claimed_reply()
}

inline claimed_reply() {
  reply = CLAIMED;
  mine = fence;
  carried = effect;
  tries = attempts;
  was_receiptless = receipt_missing
}

inline end_or_claim() {
  if
#ifndef NO_STOP_AFTER_RECEIPT
  :: effect == SENT -> ending_without_attempt(); reply = DONE_REPLY
#endif
  :: effect != SENT && expired -> ending_without_attempt(); reply = DONE_REPLY
  :: effect != SENT && !expired && refused && effect == NOT_SENT ->
     end_row(FAILED); dead_letter = DUE; reply = DUE_REPLY
  :: effect != SENT && !expired && refused && effect != NOT_SENT ->
     end_row(UNKNOWN); reply = DONE_REPLY
  :: else -> take_claim()
  fi
}

#define of_this_life (row_life == my_life)
/* A living incarnation is robbed only so often: the model has to end. */
#define may_take_over (!of_this_life && (dead(row_life) || steals < STEALS))

inline decide_claim() {
  begin_write();
  if
  :: state == ABSENT ->
     state = WAITING; /* nobody sees it: it is claimed or ended in this very step */
     row_content = content_of(m);
#ifndef NO_ADOPTION
     effect = (adopted -> MAYBE_SENT : NOT_SENT);
#endif
     end_or_claim()
#ifndef NO_CONFLICT
  :: state != ABSENT && row_content != content_of(m) -> reply = CONFLICT_REPLY
#endif
  :: else ->
     if
     :: ended(state) ->
#ifdef NO_DEAD_LETTER_DUE
        reply = DONE_REPLY
#else
        reply = (dead_letter == DUE || dead_letter == LOST -> DUE_REPLY : DONE_REPLY)
#endif
     :: state == CLAIMED && may_take_over ->
        steals = (dead(row_life) -> steals : steals + 1);
        doubt = true;
#ifndef NO_STALE
        raise(MAYBE_SENT);
#endif
        count_attempt();
        end_or_claim()
     :: state == CLAIMED && of_this_life && row_ticket != me ->
#ifdef NO_BUSY
        end_or_claim()
#elif defined(NO_LIVING_TICKET)
        raise(MAYBE_SENT);
        count_attempt();
        end_or_claim()
#else
        reply = BUSY_REPLY
#endif
     :: state == CLAIMED && of_this_life && row_ticket == me ->
#ifdef NO_REPEATED_CLAIM
        reply = BUSY_REPLY
#else
        if /* the same claim again, after a commit whose reply was lost */
        :: effect == SENT -> end_row(ACCEPTED); reply = DONE_REPLY
        :: else -> claimed_reply()
        fi
#endif
     :: state == CLAIMED && !of_this_life && !may_take_over -> reply = BUSY_REPLY
     :: state == WAITING -> end_or_claim()
     fi
  fi;
  check_row()
}

inline final_state() {
#ifdef NO_DOUBT_IN_FAILURE
  final = (effect == SENT -> ACCEPTED : want)
#else
  final = (effect == SENT -> ACCEPTED : (want == WAITING -> WAITING :
          ((want == FAILED && effect == NOT_SENT) -> FAILED : UNKNOWN)))
#endif
}

inline keep_receipt() {
  settled_fences = settled_fences | (1 << mine);
  receipt_missing = receipt_missing || verdict == RECEIPTLESS;
#ifdef NO_RISING_EFFECT
  effect = effect_of(verdict);
#else
  raise(effect_of(verdict));
#endif
  receipt_stored = receipt_stored || verdict == RECEIPT
}

inline settle_current() {
  if :: attempted -> keep_receipt() :: else fi;
  if :: counted -> count_attempt() :: else fi;
  final_state();
  if
  :: final == WAITING -> state = WAITING; row_ticket = 0
  :: else -> end_row(final); if :: final == FAILED && owes_copy -> dead_letter = DUE :: else fi
  fi
}

inline settle_late() {
#ifdef NO_LATE_RECEIPT
  receipt_stored = receipt_stored || verdict == RECEIPT
#else
  keep_receipt();
  if
  :: ended(state) && state != ACCEPTED && effect == SENT ->
     state = ACCEPTED; dead_letter = NONE; emit()
  :: else
  fi
#endif
}

#define told_already ((settled_fences & (1 << mine)) != 0)

inline decide_settle() {
  begin_write();
  if
  :: state == ABSENT -> fenced = true
#ifdef NO_FENCE
  :: state != ABSENT -> settle_current(); fenced = false
#else
  :: state != ABSENT && fence == mine && state == CLAIMED -> settle_current(); fenced = false
  :: state != ABSENT && (fence != mine || state != CLAIMED) && attempted && !told_already ->
     fenced = true; settle_late()
  :: state != ABSENT && (fence != mine || state != CLAIMED) && (!attempted || told_already) ->
     fenced = fence != mine
#endif
  fi;
  check_row()
}

inline sweep_open_row() {
  begin_write();
  if
  :: state == CLAIMED -> doubt = true; raise(MAYBE_SENT); count_attempt()
  :: else
  fi;
  ending_without_attempt();
  check_row()
}

inline decide_dead_letter_done() {
  dead_letter = (dead_letter == DUE || dead_letter == LOST -> DONE : dead_letter)
}

/* ---- pipeline/policy.cpp -------------------------------------------------------------------- */

#define exhausted (tries + 1 >= TRIES)

inline end_without_success(with_copy) {
#ifdef NO_DOUBT_IN_FAILURE /* here and in final_state(): either alone would do */
  want = FAILED;
#else
  want = (carried == NOT_SENT -> FAILED : UNKNOWN);
#endif
  owes_copy = with_copy && want == FAILED
}

inline decide() {
  attempted = true;
  counted = false;
  owes_copy = false;
  if
  :: verdict == RECEIPT -> want = ACCEPTED
  :: verdict == NO_ANSWER || verdict == RECEIPTLESS -> decide_doubt()
  :: verdict == DEVICE -> end_without_success(false)
  :: verdict == REQUEST -> end_without_success(true)
  :: verdict == RETRYABLE && exhausted -> end_without_success(true)
  :: verdict == RETRYABLE && !exhausted -> want = WAITING; counted = true
  :: verdict == PROVEN_UNSENT -> want = WAITING; attempted = false
  fi
}

inline decide_doubt() {
#ifdef RESEND
  if
#ifdef NO_RECEIPTLESS_END
  :: exhausted || expired -> want = UNKNOWN
#else
  :: verdict == RECEIPTLESS || exhausted || expired -> want = UNKNOWN
#endif
  :: else -> want = WAITING; counted = true
  fi
#else
#ifdef NO_GIVING_UP
  want = WAITING; counted = true
#else
  want = UNKNOWN
#endif
#endif
}

/* judge_claim(): may the holder of this claim call? */
#ifdef RESEND
#ifdef NO_RECEIPTLESS_END
#define proceeds (carried == NOT_SENT || tries < TRIES)
#else
#define proceeds (carried == NOT_SENT || (!was_receiptless && tries < TRIES))
#endif
#else
#ifdef NO_GIVING_UP
#define proceeds true
#else
#define proceeds (carried == NOT_SENT)
#endif
#endif
