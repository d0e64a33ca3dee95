"use strict";
// What all pages of the app share: requests, messages, buttons that ask the app for something, files that are dropped.
const app = (() => {
  const place = document.querySelector("[data-root]"), root = place.dataset.root;
  document.documentElement.classList.add("js");
  // Styles of the report's templates come as data, as no style may stand in the page itself.
  document.querySelectorAll("[data-style]").forEach((element) => { element.style.cssText = element.dataset.style; });

  let timer = null;
  function say(text, lasting) {
    document.getElementById("said").textContent = text;
    clearTimeout(timer);
    if (!lasting) timer = setTimeout(() => { document.getElementById("said").textContent = ""; }, 6000);
  }

  async function ask(path, told, kind = "json") {
    const answer = await fetch(root + path, told === undefined ? {} : { method: "POST", body: JSON.stringify(told) });
    if (answer.ok) return answer[kind]();
    const text = await answer.text();
    let error = text;
    try { error = JSON.parse(text).error; } catch { error = answer.status === 404 ? "This is not there any more." : text; }
    throw new Error(error);
  }

  // Whatever goes wrong is said in the words of the app.
  async function attempt(action) {
    try { return await action(); } catch (error) {
      say(error instanceof TypeError ? "The app does not answer: was it ended?" : error.message, true);
      return null;
    }
  }

  const go = (path) => { location.href = root + path; };

  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-post]");
    if (!button) return;
    button.disabled = true;
    attempt(async () => {
      await ask(button.dataset.post, {});
      if (button.dataset.then !== undefined) go(button.dataset.then);
      else if (!button.closest("[data-run]")) location.reload();
    }).then(() => { button.disabled = false; });
  });

  // One file after the other, with a bar of the bytes that have gone out.
  function send(path, file, progress) {
    return new Promise((done, failed) => {
      const request = new XMLHttpRequest();
      request.open("POST", root + path);
      request.upload.onprogress = ({ loaded }) => progress(loaded);
      request.onload = () => {
        if (request.status === 200) done();
        else {
          let error = request.responseText;
          try { error = JSON.parse(error).error; } catch { error = `The app answered ${request.status}.`; }
          failed(new Error(error));
        }
      };
      request.onerror = () => failed(new Error("The file did not go through: it is too large for --max-bytes, or the app was ended."));
      request.send(file);
    });
  }

  async function upload(files, bar) {
    const { data } = await ask("data", {});
    const total = [...files].reduce((sum, { size }) => sum + size, 0) || 1;
    let before = 0;
    bar.hidden = false;
    try {
      for (const file of files) {
        await send(`data/${data}/files?name=${encodeURIComponent(file.name)}`, file, (n) => { bar.value = (before + n) / total; });
        before += file.size;
      }
    } catch (error) {
      await ask(`data/${data}/remove`, {});
      throw error;
    } finally { bar.hidden = true; }
    return data;
  }

  // Files that are dropped or chosen; `then` gets the number of the data set.
  function takeFiles(then) {
    const drop = document.getElementById("drop"), input = document.getElementById("files");
    if (!drop) return;
    const take = (files) => files.length && attempt(async () => then(await upload(files, document.getElementById("sent"))));
    input.addEventListener("change", () => take(input.files));
    for (const kind of ["dragenter", "dragover"]) {
      drop.addEventListener(kind, (event) => { event.preventDefault(); drop.classList.add("over"); });
    }
    drop.addEventListener("dragleave", () => drop.classList.remove("over"));
    drop.addEventListener("drop", (event) => {
      event.preventDefault();
      drop.classList.remove("over");
      take(event.dataTransfer.files);
    });
  }

  return { ask, attempt, go, say, takeFiles, root };
})();
