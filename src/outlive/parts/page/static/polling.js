// Long polls: calls again and again.

// What the server refused, with its error object
export class Refused extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.error = error;
  }
}

export function sleep(ms, signal) {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
    signal?.addEventListener("abort", resolve, { once: true });
  });
}

// Repeat a long poll until the signal comes: `turn` makes one call and takes its answer; false ends it. `tells`: a page
// that is not seen may need it.
export async function forever(turn, signal, failed = () => {}, tells = false) {
  let pause = 250;
  while (!signal.aborted) {
    try {
      if (document.hidden) await shown(signal, tells);
      if (signal.aborted || (await turn()) === false) return;
      pause = 250;
    } catch (error) {
      if (signal.aborted || error.name === "AbortError") return;
      if (error instanceof Refused && failed(error) !== true) return;
      await sleep(pause, signal);
      pause = Math.min(pause * 2, 4000);
    }
  }
}

// A page that is not seen asks for nothing, unless it promised to tell of the end of a job
let watchesHidden = 0;
export function watchHidden(by) {
  watchesHidden += by;
  document.dispatchEvent(new Event("visibilitychange"));
}

async function shown(signal, tells) {
  while (document.hidden && !(tells && watchesHidden) && !signal.aborted) {
    await new Promise((resolve) => {
      for (const [target, event] of [[document, "visibilitychange"], [signal, "abort"]]) target.addEventListener(event, resolve, { once: true });
    });
  }
}
