// Browsers start no workers for pages opened from a folder (file:). The search of this site is a
// worker; from a folder it runs in a hidden frame instead, with the same messages back and forth.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.document.open();
      inside.document.write("<!doctype html><body></body>");
      inside.document.close();
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const load = (url) =>
        new Promise((done, failed) => {
          const script = inside.document.createElement("script");
          script.src = new URL(url, location.href).href;
          script.onload = done;
          script.onerror = failed;
          inside.document.body.append(script);
        });
      inside.importScripts = (...urls) =>
        urls.reduce((before, url) => before.then(() => load(url)), Promise.resolve());
      this.frame = frame;
      this.ready = load(address);
    }
    postMessage(data) {
      const window = this.frame.contentWindow;
      this.ready.then(() => window.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
}
