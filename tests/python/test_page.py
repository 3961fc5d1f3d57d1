"""What a person does with the page of `deepvoro serve`: draws, drops, shows, corrects, undoes, with mouse or keys alone."""
import csv
import io
import re
import shutil
import tarfile

import pytest
from browser import find_browser
from conftest import REPOSITORY
from served_page import CONTROL, SHIFT, ServedPage, built_page, cross, face, house, lightning
from serving import Serving

if find_browser() is None:
    pytest.skip("no Chromium: apt-get install chromium-headless-shell", allow_module_level=True)

FIRST_CLASSES = ("butterfly", "clock", "coffee cup")
SKETCHES = REPOSITORY / "data/quickdraw/pictures/novel.tar"
DRAWINGS = {"face": face, "house": house, "lightning": lightning}


@pytest.fixture(scope="module")
def browser():
    with ServedPage() as opened:
        yield opened


@pytest.fixture
def server(program, tmp_path):
    built_page()
    with Serving(program, data=tmp_path / "data") as served:
        yield served


@pytest.fixture
def page(browser, server):
    browser.visit(server.url)
    browser.until_classes(butterfly=5, clock=5, coffee_cup=5)
    yield browser
    here = f"http://127.0.0.1:{server.port}/"
    assert all(address.startswith((here, "blob:" + here)) for address in browser.requests), browser.requests
    browser.open("about:blank")
    assert [message for message in browser.messages if not is_of_a_picture_taken_back(message, server)] == []


def is_of_a_picture_taken_back(message, server):
    """Its thumbnail may still have been on the way."""
    thumbnail = re.search(r"404 .*(/api/pictures/\w+/thumbnail)$", message)
    return thumbnail is not None and server.ask("GET", thumbnail[1])[0] == 404


def test_draws_three_classes_and_is_understood(page):
    for name, drawing in DRAWINGS.items():
        page.teach_drawings(name, drawing, 3)
    for name, drawing in DRAWINGS.items():
        page.press("x")
        page.draw(drawing(1.5))
        page.until_answer(name)
        assert page.run("document.querySelector('.bars li .name').textContent") == name
    assert not any("100" in amount for amount in page.run("[...document.querySelectorAll('.amount')].map((e) => e.textContent)"))


def test_teaching_answers_the_question_again(page):
    page.draw(cross(0))
    page.until_answer("I don’t know this")
    assert "Nearest: " in page.run("document.querySelector('.under').textContent")
    page.click(".answer .main")
    page.click(".wrong input")
    page.type("cross")
    page.press("Enter")
    page.until_answer("cross")
    page.until_classes(butterfly=5, coffee_cup=5, clock=5, cross=1)
    assert page.run("document.querySelector('.under').textContent") == "Taught as cross"
    page.press("z", CONTROL)
    page.until_answer("I don’t know this")
    page.until_classes(butterfly=5, coffee_cup=5, clock=5)
    page.press("z", CONTROL | SHIFT)
    page.until_answer("cross")


def test_a_wrong_answer_is_corrected_by_one_click(page):
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    said = page.run("document.querySelector('.word').textContent")
    right = "butterfly" if said != "butterfly" else "coffee cup"
    page.click(".wrong summary")
    page.click(f".wrong .chip:nth-child({1 + page.run(f'''[...document.querySelectorAll('.wrong .chip')].findIndex((c) => c.textContent === '{right}')''')})")
    page.until_classes(**{**{name.replace(" ", "_"): 5 for name in FIRST_CLASSES}, right.replace(" ", "_"): 6})
    page.until(f"document.querySelector('.under').textContent === 'Taught as {right}'")
    # Corrected once more, the picture moves: it is not taught twice.
    other = next(name for name in FIRST_CLASSES if name != right)
    page.click(page.card(other, ".teach-this"))
    page.until_classes(**{**{name.replace(" ", "_"): 5 for name in FIRST_CLASSES}, other.replace(" ", "_"): 6})


def test_the_next_stroke_after_teaching_begins_a_new_drawing(page):
    page.draw(house(0))
    page.until("document.querySelector('.bars li')")
    page.press("1")
    page.until_classes(butterfly=6, coffee_cup=5, clock=5)
    page.draw(lightning(0)[:1])
    page.until("document.querySelector('.under').textContent.trim() === '' || document.querySelector('.answer .main')")
    page.press("z", CONTROL)  # the stroke came last
    page.until("document.querySelector('.pad-hint').hidden === false")
    page.press("z", CONTROL)  # now what was taught
    page.until_classes(butterfly=5, coffee_cup=5, clock=5)


def test_why_shows_neighbours_votes_and_distance(page):
    page.draw(face(0))
    page.until("document.querySelector('.bars li')")
    page.click(".why summary")
    page.until("[...document.querySelectorAll('.neighbours img')].filter((i) => i.complete && i.naturalWidth > 0).length === 3")
    assert page.run("document.querySelectorAll('.votes li').length") > 0
    said = page.run("[...document.querySelectorAll('.diagrams li')].map((e) => [...e.children].map((c) => c.textContent))")
    assert [name for name, _ in said] == ["ridge regression", "nearest class mean"] and all(word in FIRST_CLASSES for _, word in said)
    assert "unknown beyond" in page.run("document.querySelector('.distance').getAttribute('aria-label')")


@pytest.fixture
def folders(tmp_path):
    """Two classes of sketches in a folder, and a file that is no picture."""
    with tarfile.open(SKETCHES) as tar:
        for name in ("camel", "car"):
            (tmp_path / "more" / name).mkdir(parents=True)
            for i in range(4):
                (tmp_path / "more" / name / f"{i}.png").write_bytes(tar.extractfile(f"{name}/{i:03}.png").read())
    (tmp_path / "more/car/notes.txt").write_text("no picture")
    return tmp_path / "more"


def test_folders_that_are_dropped_are_classes(page, folders):
    page.drop(".card.new", folders / "camel", folders / "car")
    page.until_classes(butterfly=5, camel=4, car=4, coffee_cup=5, clock=5)
    page.until("document.querySelector('.notice.error')")
    refused = page.run("document.querySelector('.notice.error').textContent")
    assert "1 picture was refused" in refused and "notes.txt" in refused and "is not a picture" in refused
    page.press("z", CONTROL)  # one drop is one step
    page.until_classes(butterfly=5, coffee_cup=5, clock=5)


def test_what_cannot_be_taught_does_not_hold_up_the_rest(page, folders):
    """A class of nothing but broken files comes first, one that cannot be called so, and a file that is larger than the server takes."""
    (folders / "broken").mkdir()
    for number in range(30):
        (folders / "broken" / f"{number:02}.jpg").write_bytes(b"no picture" if number else b"")
    (folders / "Unknown").mkdir()
    shutil.copy(folders / "car/0.png", folders / "Unknown/0.png")
    with (folders / "camel/large.png").open("wb") as large:
        large.truncate(70 * 2**20)
    page.drop(".card.new", folders / "broken", folders / "Unknown", folders / "camel", folders / "car")
    page.until_classes(butterfly=5, camel=4, car=4, coffee_cup=5, clock=5)
    page.until("document.querySelectorAll('.notice.error').length === 2")
    untaught, refused = page.run("[...document.querySelectorAll('.notice.error')].map((e) => e.innerText)")
    assert untaught.startswith("1 class was not taught.") and "Unknown: No class can be called unknown" in untaught
    assert refused.startswith("32 pictures were refused; the others are taught.") and "and 24 more" in refused
    assert "00.jpg: is empty; copy it again or remove it" in refused and "01.jpg: is not a picture of a known kind" in refused
    page.drop(".ask", folders / "camel/large.png")
    page.until("document.querySelector('.under').textContent === 'large.png: is larger than 63 MiB; make it smaller'")
    assert len(page.messages) == 2 and all("400 (Bad Request)" in words and words.endswith("/broken/pictures") for words in page.messages)
    page.messages.clear()  # Chromium tells of every refusal


def test_a_folder_of_folders_is_a_class_for_each(page, folders):
    page.drop("main", folders)
    page.until_classes(butterfly=5, camel=4, car=4, coffee_cup=5, clock=5)


def test_files_are_taught_by_a_card_and_asked_elsewhere(page, folders):
    page.drop(page.card("coffee cup"), folders / "camel/0.png", folders / "camel/1.png")
    page.until_classes(butterfly=5, coffee_cup=7, clock=5)
    page.drop(".ask", folders / "car/0.png", folders / "camel/2.png")
    page.until("document.querySelectorAll('.history li').length === 2 && !document.querySelector('.history').textContent.includes('…')")
    page.until("document.querySelector('.shown').naturalWidth > 0")
    page.until_classes(butterfly=5, coffee_cup=7, clock=5)


def test_pictures_that_are_there_or_in_another_class_are_told(page, folders):
    camel = folders / "camel/0.png"
    page.until("document.querySelectorAll('.tile img').length === 15")  # cards keep their places from then on
    page.drop(page.card("clock"), camel)
    page.until_classes(butterfly=5, coffee_cup=5, clock=6)
    page.drop(page.card("clock"), camel)
    page.until("document.querySelector('.notice')?.textContent.includes('1 picture was in the class already')")
    page.drop(page.card("butterfly"), camel)
    page.until_classes(butterfly=6, coffee_cup=5, clock=6)
    page.until("document.querySelector('.notice li')?.textContent.startsWith('0.png is the same picture as clock/')")
    page.drop(".ask", camel)
    page.until("document.querySelector('.bars li') && document.querySelectorAll('.notice').length === 2")
    page.click(page.card("coffee cup", ".teach-this"))
    page.until("[...document.querySelectorAll('.notice:last-child li')].map((e) => e.textContent.split('/')[0]).sort().join() === '0.png is the same picture as butterfly,0.png is the same picture as clock'")


def test_ink_on_paper_is_understood_and_kept(page, server, tmp_path):
    from PIL import Image, ImageDraw
    paper = Image.new("RGB", (400, 300), (228, 224, 215))
    drawn = ImageDraw.Draw(paper)
    drawn.ellipse((120, 60, 300, 240), outline=(40, 40, 60), width=6)
    drawn.line((210, 150, 210, 90), fill=(40, 40, 60), width=6)
    drawn.line((210, 150, 250, 170), fill=(40, 40, 60), width=6)
    paper.save(tmp_path / "clock.jpg")
    page.drop(".ask", tmp_path / "clock.jpg")
    page.until_answer("clock")
    # The page sends files as they are: it shows what the API says, and the project keeps them.
    (told,) = server.json("POST", "/api/predict", (tmp_path / "clock.jpg").read_bytes())["answers"]
    shown = page.run("[...document.querySelectorAll('.bars li')].map((e) => e.querySelector('.amount').textContent)")
    likeliest = sorted(told["probabilities"].values(), reverse=True)
    assert shown == ["99+ %" if p > 0.99 else "< 1 %" if p < 0.01 else f"{round(100 * p)} %" for p in likeliest][:len(shown)]
    page.drop(page.card("clock"), tmp_path / "clock.jpg")
    page.until_classes(butterfly=5, coffee_cup=5, clock=6)
    newest = server.json("GET", "/api/classes/clock/pictures")["pictures"][0]["id"]
    assert server.ask("GET", f"/api/pictures/{newest}")[1] == (tmp_path / "clock.jpg").read_bytes()
    # Paper is shown as paper; light strokes on black are ink on a light page, and light on the page's own tile on a dark one.
    for dark in (False, True):
        page.visit(server.url, dark=dark)
        page.until(f"""document.querySelector('.tile[data-key="{newest}"] img')?.naturalWidth > 0""")
        for tile, shade in ((newest, paper.convert("L").getpixel((0, 0))), (server.json("GET", "/api/classes/butterfly/pictures")["pictures"][0]["id"], 38 if dark else 255)):
            screen = Image.open(io.BytesIO(page.picture(f'.tile[data-key="{tile}"] img'))).convert("L")
            assert abs(screen.getpixel((screen.width // 2, 3)) - shade) < 12


def test_pictures_move_and_are_removed(page, server):
    page.until("document.querySelectorAll('.tile img').length === 15")
    moved = page.run("document.querySelector('.card[data-key=clock] .tile').dataset.key")
    page.drag(f'.tile[data-key="{moved}"]', page.card("coffee cup", "h3"))
    page.until_classes(butterfly=5, coffee_cup=6, clock=4)
    assert moved in [picture["id"] for picture in server.json("GET", "/api/classes/coffee%20cup/pictures?from=0&count=6")["pictures"]]
    page.run("document.querySelector(`.card[data-key='coffee cup'] .tile`).focus()")
    page.press("Delete")
    page.until_classes(butterfly=5, coffee_cup=5, clock=4)
    page.press("z", CONTROL)
    page.until_classes(butterfly=5, coffee_cup=6, clock=4)
    page.click(page.card("butterfly", ".card-foot .plain:last-child"))
    page.until_classes(coffee_cup=6, clock=4)
    page.press("z", CONTROL)
    page.until_classes(butterfly=5, coffee_cup=6, clock=4)


def test_the_camera_answers_and_teaches_while_held(page):
    page.click(".ask .tabs button:nth-child(3)")
    page.until("document.querySelector('.camera').videoWidth > 0 && document.querySelector('.bars li')")
    x, y = page.middle(page.card("clock", ".teach-this"))
    page.mouse("mousePressed", x, y, 1)
    page.until("Number(document.querySelector('.card[data-key=clock] .count').textContent) >= 8")
    assert page.run("document.querySelector('.card[data-key=clock] .teach-this').dataset.count").startswith("+")
    page.mouse("mouseReleased", x, y)
    page.click(".ask .tabs button:nth-child(1)")
    assert page.run("document.querySelector('.camera').srcObject") is None


def test_check_tells_what_to_teach_next(page):
    page.until("document.querySelector('.next li')")
    assert "of 15" in page.run("document.querySelector('.check-words').textContent")
    assert page.run("document.querySelectorAll('.next .mistaken').length") == int(page.run("document.querySelector('.check-words').textContent.match(/(\\d+) wrong/)[1]"))
    page.until("document.querySelectorAll('.tile.mistaken').length === document.querySelectorAll('.next .mistaken').length")
    page.click(".check .tabs button:nth-child(3)")
    assert page.run("[...document.querySelectorAll('.confusion tbody tr')].map((r) => [...r.querySelectorAll('td')].reduce((s, c) => s + (Number(c.textContent) || 0), 0))") == [5, 5, 5]
    page.click(".check .tabs button:nth-child(2)")
    page.until("document.querySelector('.map')?.getAttribute('aria-label')?.startsWith('Map of 15 pictures and the cells of 3 classes')")
    colours = page.run("""(() => { const c = document.querySelector('.map'); const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; const seen = new Map();
        for (let i = 0; i < d.length; i += 4) { const k = d[i] << 16 | d[i + 1] << 8 | d[i + 2]; seen.set(k, (seen.get(k) ?? 0) + 1); }
        return [...seen].filter(([, n]) => n > c.width * c.height / 50).map(([k]) => k); })()""")
    assert {0xc7dfee, 0xfae8c4, 0xc5e8dd} <= set(colours)
    page.run("document.querySelector('.map').focus()")
    page.press("ArrowRight")
    assert page.run("document.querySelector('.map-tip').textContent").split(",")[0] in FIRST_CLASSES
    page.press("Enter")
    page.until("document.querySelector('.picture-dialog').open")
    page.press("Escape")


def test_check_tells_of_pictures_that_are_alone(page):
    page.teach_drawings("lightning", lightning, 1)
    page.until("document.querySelector('.check-words').textContent.includes('of 15') && document.querySelector('.check-words').textContent.endsWith(' · 1 picture is alone in its class and was not asked')")


def test_reload_keeps_all(page, server):
    page.draw(lightning(0))
    page.until("document.querySelector('.bars li')")
    page.press("/")
    page.type("lightning")
    page.press("Enter")
    page.until_classes(butterfly=5, coffee_cup=5, clock=5, lightning=1)
    page.visit(server.url)
    page.until_classes(butterfly=5, coffee_cup=5, clock=5, lightning=1)
    page.draw(lightning(1))
    page.until_answer("lightning")


def test_keys_alone(page):
    """Everything but drawing: a picture is pasted, taught, corrected, a class made and renamed, pictures moved and removed."""
    page.until("document.querySelector('.tile img')")
    page.run(f"""(async () => {{ const bytes = await (await fetch(document.querySelector('.tile img').src)).blob(); const data = new DataTransfer();
        data.items.add(new File([bytes], 'pasted.png', {{type: 'image/png'}})); document.dispatchEvent(new ClipboardEvent('paste', {{clipboardData: data, bubbles: true}})); }})()""")
    page.until("document.querySelector('.bars li')")
    page.press("3")
    page.until_classes(butterfly=5, coffee_cup=6, clock=5)
    page.until("document.querySelector('.wrong .chip')?.textContent === 'butterfly'")
    page.press("w")
    page.until("document.activeElement.classList.contains('chip')")
    page.press("Enter")
    page.until("!document.querySelector('.wrong').open")
    page.until_classes(butterfly=6, coffee_cup=5, clock=5)
    page.press("/")
    assert page.active() == "Name of a new class"
    page.type("cat")
    page.press("Enter")
    page.until_classes(butterfly=6, cat=0, coffee_cup=5, clock=5)
    page.run("document.activeElement.blur(); document.querySelector('.card[data-key=cat] .name').focus()")
    page.press("Enter")
    page.type("cats")
    page.press("Enter")
    page.until_classes(butterfly=6, cats=0, coffee_cup=5, clock=5)
    page.until("document.activeElement.textContent === 'cats'")
    page.run("document.querySelector('.card[data-key=clock] .tile').focus()")
    page.press("ArrowRight")
    assert page.active() == "picture 2 of clock" or page.active().startswith("picture 2 of clock,")
    page.press("Enter")
    page.until("document.querySelector('.picture-dialog').open")
    page.press("Tab")
    page.press("Enter")  # the first class to move to
    page.until_classes(butterfly=7, cats=0, coffee_cup=5, clock=4)
    page.press("?")
    page.until("document.querySelector('.help').open")
    page.press("Escape")
    page.press("e")
    page.until("document.querySelector('.keep').open")
    page.press("Escape")


@pytest.fixture
def keep(page, tmp_path):
    """Downloads what a button of the page offers."""
    folder = tmp_path / "downloads"
    page.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder), eventsEnabled=True)

    def download(words):
        if not page.run("document.querySelector('.keep').open"):
            page.run("document.activeElement.blur()")
            page.press("e")
            page.until("document.querySelector('.keep').open")
        page.run(f"[...document.querySelectorAll('.keep .action')].find((a) => a.textContent.startsWith('{words}')).click()")
        name = page.wait_for("Browser.downloadWillBegin")["suggestedFilename"]
        page.wait_for("Browser.downloadProgress", lambda values: values["state"] == "completed")
        return folder / name

    return download


def test_what_is_exported_answers_as_the_page_did(page, keep, folders, deepvoro, tmp_path, monkeypatch):
    page.teach_drawings("face", face, 1)
    page.drop(page.card("face"), *(folders / "camel").glob("?.png"))
    page.until_classes(butterfly=5, coffee_cup=5, clock=5, face=5)
    queries = tmp_path / "queries"
    queries.mkdir()
    with tarfile.open(SKETCHES) as tar:
        for name in ("camel", "car", "chair", "clock"):
            for i in range(10, 13):
                (queries / f"{name}{i}.png").write_bytes(tar.extractfile(f"{name}/{i:03}.png").read())
    (queries / "empty.png").write_bytes(b"")
    (queries / "notes.png").write_text("no picture")
    files = sorted(queries.iterdir())
    page.drop(".ask", *files)
    page.until(f"document.querySelectorAll('.history li').length === {len(files)} && !document.querySelector('.history').textContent.includes('…')")
    answers, classifier, project = keep("Answers"), keep("Classifier"), keep("Project")
    commands = page.run("[...document.querySelectorAll('.commands code')].map((c) => c.textContent)")
    assert commands[0].startswith("deepvoro fit ") and commands[1].startswith("deepvoro predict ") and commands[1].endswith(" PICTURE... --reject")

    monkeypatch.chdir(queries)
    predicted = deepvoro("predict", classifier, *(file.name for file in files), "--reject")
    assert predicted.returncode == 3 and "2 of 14 pictures cannot be read" in predicted.stderr
    header, drawn, *rows = answers.read_text().splitlines(keepends=True)
    assert drawn.startswith("drawing")
    assert header + "".join(rows) == predicted.stdout
    assert len(rows) == len(files) and any(row["class"] == "unknown" for row in csv.DictReader(io.StringIO(predicted.stdout)))
    assert sum("/api/predict" in words and "400 (Bad Request)" in words for words in page.messages) == len(page.messages) > 0
    page.messages.clear()  # Chromium tells of every refusal

    shutil.unpack_archive(project, tmp_path / "unpacked", "zip")
    assert (tmp_path / "unpacked/classifier.dv").read_bytes() == classifier.read_bytes()
    fitted = deepvoro("fit", tmp_path / "unpacked/pictures", "--out", tmp_path / "fitted.dv")
    assert fitted.returncode == 0, fitted.stderr
    assert (tmp_path / "fitted.dv").read_bytes() == classifier.read_bytes()


def test_a_project_that_was_exported_is_imported(page, keep):
    archive = keep("Project")
    page.press("Escape")
    page.click(page.card("butterfly", ".card-foot .plain:last-child"))
    page.until_classes(coffee_cup=5, clock=5)
    page.press("e")
    page.until("document.querySelector('.keep').open")
    page.call("Page.setInterceptFileChooserDialog", enabled=True)
    page.run("[...document.querySelectorAll('.keep .action')].find((a) => a.textContent.startsWith('Import')).click()")
    chooser = page.wait_for("Page.fileChooserOpened")
    page.call("DOM.setFileInputFiles", files=[str(archive)], backendNodeId=chooser["backendNodeId"])
    page.call("Page.setInterceptFileChooserDialog", enabled=False)
    page.until_classes(butterfly=5, clock=5, coffee_cup=5)
    assert page.until("document.querySelector('.notice')?.textContent") == f"Imported 5 pictures of {archive.name}, 10 more were there already: now 3 classes."
    page.until("[...document.querySelectorAll('.tile img')].filter((i) => i.complete && i.naturalWidth > 0).length === 15")
    page.press("z", CONTROL)  # one archive is one step
    page.until_classes(coffee_cup=5, clock=5)
